# SPDX-License-Identifier: Apache-2.0
"""Images to and from a real registry, cross-checked with skopeo; export to what other tools read."""

import base64
import http.server
import json
import os
import pty
import signal
import subprocess
import tarfile
import termios
import threading
from pathlib import Path

import pytest
from conftest import needs, wait_until
from image_files import sha256, tar_of, write_layout
from registry import registry

pytestmark = [needs("docker-registry", "skopeo", "htpasswd")]


@pytest.fixture(scope="module")
def plain():
    with registry() as lab:
        yield lab


@pytest.fixture
def made(longship, tmp_path):
    """A small image "small" in the store, from a directory with a few of the things that go wrong."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "deep" / ("d" * 120) / ("e" * 120)).mkdir(parents=True)
    (root / "deep" / ("d" * 120) / ("e" * 120) / "file").write_text("far down\n")
    (root / "bin" / "tool").write_text("#!/bin/sh\necho hello\n")
    (root / "bin" / "tool").chmod(0o755)
    os.link(root / "bin" / "tool", root / "bin" / "same")
    (root / "bin" / "link").symlink_to("tool")
    (root / "large").write_bytes(os.urandom(3 << 20))
    done = longship("image", "import", root, "-t", "small")
    assert done.returncode == 0, done.stderr
    return root


def contents(directory):
    found = {}
    for path in sorted(Path(directory).rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            found[name] = ("file", path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def test_what_is_pushed_is_pulled_again(longship, made, plain, tmp_path):
    done = longship("image", "push", "small", f"{plain.host}/team/small:v1")
    assert done.returncode == 0, done.stderr
    done = longship("image", "pull", f"{plain.host}/team/small:v1")
    assert done.returncode == 0, done.stderr
    one = json.loads(longship("--json", "image", "show", "small").stdout)
    other = json.loads(longship("--json", "image", "show", "small:v1").stdout)
    assert one["files"] == other["files"]
    assert longship("image", "export", "small:v1", tmp_path / "out", "--format", "directory").returncode == 0
    there = contents(tmp_path / "out")
    for name, what in contents(made).items():
        assert there[name] == what, name
    assert os.stat(tmp_path / "out/bin/tool").st_ino == os.stat(tmp_path / "out/bin/same").st_ino


def test_skopeo_reads_what_we_push_and_we_read_what_it_pushes(longship, made, plain, tmp_path):
    assert longship("image", "push", "small", f"{plain.host}/small:ours").returncode == 0
    subprocess.run(["skopeo", "copy", "--src-tls-verify=false", f"docker://{plain.host}/small:ours",
                    f"oci:{tmp_path}/copy:ours"], check=True, capture_output=True)
    subprocess.run(["skopeo", "copy", "--dest-tls-verify=false", f"oci:{tmp_path}/copy:ours",
                    f"docker://{plain.host}/small:theirs", "--format", "v2s2"], check=True, capture_output=True)
    done = longship("image", "pull", f"{plain.host}/small:theirs", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert longship("image", "export", "back", tmp_path / "out", "--format", "directory").returncode == 0
    assert contents(tmp_path / "out")["large"] == contents(made)["large"]


@pytest.mark.parametrize("ending", ["layout", "x.oci.tar", "x.tar", "x.tar.gz", "x.sqfs"])
def test_an_export_can_be_imported_again(longship, made, tmp_path, ending):
    assert longship("image", "export", "small", tmp_path / ending).returncode == 0
    done = longship("image", "import", tmp_path / ending, "-t", "again")
    assert done.returncode == 0, done.stderr
    one, other = (json.loads(longship("--json", "image", "show", name).stdout) for name in ("small", "again"))
    assert one["files"] == other["files"]


def test_other_tools_read_our_archives(longship, made, tmp_path):
    assert longship("image", "export", "small", tmp_path / "x.tar.gz").returncode == 0
    with tarfile.open(tmp_path / "x.tar.gz") as archive:
        names = archive.getnames()
    assert f"deep/{'d' * 120}/{'e' * 120}/file" in names
    assert longship("image", "export", "small", tmp_path / "layout").returncode == 0
    said = subprocess.run(["skopeo", "inspect", f"oci:{tmp_path}/layout"], check=True, capture_output=True, text=True)
    assert json.loads(said.stdout)["Architecture"] in ("amd64", "arm64", "ppc64le")


def test_an_export_does_not_overwrite(longship, made, tmp_path):
    (tmp_path / "x.tar").write_text("precious")
    done = longship("image", "export", "small", tmp_path / "x.tar")
    assert done.returncode == 1
    assert "it is there already" in done.stderr
    assert (tmp_path / "x.tar").read_text() == "precious"


def test_ctrl_c_at_the_password_gives_the_terminal_back(longship):
    ours, theirs = pty.openpty()
    echoes = lambda: termios.tcgetattr(theirs)[3] & termios.ECHO  # noqa: E731
    process = longship.start("image", "login", "localhost:1", "-u", "ada", stdin=theirs)
    wait_until(lambda: not echoes(), "the question for the password")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == -signal.SIGINT
    assert echoes()
    process = longship.start("image", "login", "localhost:1", "-u", "ada", stdin=theirs)
    wait_until(lambda: not echoes(), "the question for the password")
    os.write(ours, b"secret\n")
    _, errors = process.communicate(timeout=30)
    assert "cannot log in to localhost:1: connection refused" in errors and echoes()


def test_password_and_tls(longship, made):
    with registry("ada", "secret", tls=True) as lab:
        longship.environment["SSL_CERT_FILE"] = lab.certificate
        refused = longship("image", "push", "small", f"{lab.host}/small")
        assert refused.returncode == 1
        assert f"longship image login {lab.host}" in refused.stderr
        wrong = longship("image", "login", lab.host, "-u", "ada", "--password-stdin", stdin=None, input="guess\n")
        assert wrong.returncode == 1
        right = longship("image", "login", lab.host, "-u", "ada", "--password-stdin", stdin=None, input="secret\n")
        assert right.returncode == 0, right.stderr
        kept = Path(longship.environment["HOME"]) / ".config/longship/auth.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        done = longship("image", "push", "small", f"{lab.host}/small")
        assert done.returncode == 0, done.stderr
        assert longship("image", "pull", f"{lab.host}/small", "-t", "back").returncode == 0
        assert longship("image", "logout", lab.host).returncode == 0
        assert longship("image", "pull", f"{lab.host}/small", "-t", "back").returncode == 1


def test_a_login_of_docker_is_good_for_us(longship, made):
    with registry("ada", "secret") as lab:
        config = Path(longship.environment["HOME"]) / ".docker"
        config.mkdir()
        (config / "config.json").write_text(json.dumps(
            {"auths": {lab.host: {"auth": base64.b64encode(b"ada:secret").decode()}}}))
        done = longship("image", "push", "small", f"{lab.host}/small")
        assert done.returncode == 0, done.stderr


def test_what_is_not_there_is_named(longship, plain):
    done = longship("image", "pull", f"{plain.host}/nobody/nothing:v9")
    assert done.returncode == 1
    assert "nobody/nothing:v9" in done.stderr
    assert "there is none" in done.stderr
    assert longship("image", "pull", "nothing").returncode == 2


class Fake(http.server.BaseHTTPRequestHandler):
    """A registry that lies or breaks off; called a fake. `server.blobs` maps paths to what is answered."""

    def log_message(self, *words):
        pass

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization"), self.headers.get("Range")))
        answer = self.server.blobs.get(self.path)
        if callable(answer):
            return answer(self)
        if answer is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@pytest.fixture
def fake():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    server.blobs, server.asked = {}, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.host = f"localhost:{server.server_address[1]}"
    yield server
    server.shutdown()


def serve_small_image(server, longship, tmp_path):
    """The image "small" as a registry would serve it; returns the layer's digest."""
    assert longship("image", "export", "small", tmp_path / "layout").returncode == 0
    index = json.loads((tmp_path / "layout/index.json").read_text())
    blobs = tmp_path / "layout/blobs/sha256"
    manifest_digest = index["manifests"][0]["digest"]
    manifest = (blobs / manifest_digest.split(":")[1]).read_bytes()
    server.blobs["/v2/small/manifests/v1"] = manifest
    for digest in [json.loads(manifest)["config"]["digest"], *(x["digest"] for x in json.loads(manifest)["layers"])]:
        server.blobs[f"/v2/small/blobs/{digest}"] = (blobs / digest.split(":")[1]).read_bytes()
    return json.loads(manifest)["layers"][0]["digest"]


def test_a_blob_that_breaks_off_is_resumed(longship, made, fake, tmp_path):
    layer = f"/v2/small/blobs/{serve_small_image(fake, longship, tmp_path)}"
    whole = fake.blobs[layer]

    def break_off(request):
        start = int((request.headers.get("Range") or "bytes=0-").split("=")[1].split("-")[0])
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(whole) - start))
        request.end_headers()
        request.wfile.write(whole[start:start + (1 << 20)])  # then the connection closes

    fake.blobs[layer] = break_off
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert [r for p, _, r in fake.asked if p == layer][:2] == [None, f"bytes={1 << 20}-"]


def partial(longship):
    """Halves of blobs in the store, by their digest."""
    place = Path(longship.environment["LONGSHIP_STORE"]) / "pulled/partial"
    return {"sha256:" + path.name: path for path in place.iterdir()} if place.exists() else {}


def ranges_asked(server, path):
    return [wanted for asked, _, wanted in server.asked if asked == path]


def answer_range(request, whole):
    start = int((request.headers.get("Range") or "bytes=0-").split("=")[1].split("-")[0])
    request.send_response(206 if start else 200)
    request.send_header("Content-Length", str(len(whole) - start))
    request.end_headers()
    request.wfile.write(whole[start:])


def cut_pull(longship, fake, digest):
    """A pull that is killed after the first megabyte of the layer; the registry is whole again afterwards."""
    layer = f"/v2/small/blobs/{digest}"
    whole, sent, go_on = fake.blobs[layer], threading.Event(), threading.Event()

    def stop_in_the_middle(request):
        request.send_response(200)
        request.send_header("Content-Length", str(len(whole)))
        request.end_headers()
        request.wfile.write(whole[:1 << 20])
        sent.set()
        go_on.wait(60)

    fake.blobs[layer] = stop_in_the_middle
    pull = longship.start("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert sent.wait(60)
    wait_until(lambda: digest in partial(longship) and partial(longship)[digest].stat().st_size == 1 << 20,
               "the first megabyte is in the store")
    pull.kill()
    pull.communicate()
    go_on.set()
    fake.blobs[layer] = lambda request: answer_range(request, whole)
    fake.asked.clear()
    return layer, whole


def test_a_later_pull_goes_on_where_a_killed_one_was(longship, made, fake, tmp_path):
    digest = serve_small_image(fake, longship, tmp_path)
    layer, whole = cut_pull(longship, fake, digest)
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert ranges_asked(fake, layer) == [f"bytes={1 << 20}-"]
    assert not partial(longship)
    assert longship("image", "verify").returncode == 0


def test_a_half_that_is_wrong_is_thrown_away_and_fetched_whole(longship, made, fake, tmp_path):
    digest = serve_small_image(fake, longship, tmp_path)
    layer, whole = cut_pull(longship, fake, digest)
    partial(longship)[digest].write_bytes(b"x" * (1 << 20))
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert ranges_asked(fake, layer) == [f"bytes={1 << 20}-", None]


def test_a_registry_that_cannot_go_on_in_the_middle_gives_the_blob_anew(longship, made, fake, tmp_path):
    digest = serve_small_image(fake, longship, tmp_path)
    layer, whole = cut_pull(longship, fake, digest)
    fake.blobs[layer] = whole  # all of it, whatever range was asked for
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert ranges_asked(fake, layer) == [f"bytes={1 << 20}-"]


def test_several_pulls_at_once_do_not_mind_a_half(longship, made, fake, tmp_path):
    cut_pull(longship, fake, serve_small_image(fake, longship, tmp_path))
    pulls = [longship.start("image", "pull", f"{fake.host}/small:v1", "-t", f"many{number}") for number in range(3)]
    for pull in pulls:
        _, errors = pull.communicate(timeout=60)
        assert pull.returncode == 0, errors
    assert longship("image", "verify").returncode == 0
    assert not partial(longship)


def test_gc_removes_halves(longship, made, fake, tmp_path):
    cut_pull(longship, fake, serve_small_image(fake, longship, tmp_path))
    assert longship("image", "gc").returncode == 0
    assert not partial(longship)


@pytest.mark.parametrize("says", ["no range", "range not satisfiable"])
def test_a_blob_that_is_truncated_in_the_registry_is_said_to_be(longship, made, fake, tmp_path, says):
    layer = f"/v2/small/blobs/{serve_small_image(fake, longship, tmp_path)}"
    whole = fake.blobs[layer]

    def half(request):
        if request.headers.get("Range"):
            request.send_error(416)
        elif says == "no range":
            answer_range(request, whole[:1000])
        else:  # a length is not told: at first it looks as if the connection broke
            request.send_response(200)
            request.end_headers()
            request.wfile.write(whole[:1000])

    fake.blobs[layer] = half
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 1
    assert f"the registry has only 1000 of its {len(whole)} bytes; push the image again" in done.stderr
    assert longship("image", "show", "back").returncode == 1


def test_a_blob_with_another_content_is_refused_and_nothing_is_left(longship, made, fake, tmp_path):
    layer = f"/v2/small/blobs/{serve_small_image(fake, longship, tmp_path)}"
    fake.blobs[layer] = b"x" * len(fake.blobs[layer])
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 1
    assert "its digest does not match its content" in done.stderr
    assert longship("image", "show", "back").returncode == 1
    assert not list((Path(longship.environment["LONGSHIP_STORE"]) / "asides").iterdir())
    assert not partial(longship)


def test_more_bytes_than_promised_are_refused(longship, made, fake, tmp_path):
    layer = f"/v2/small/blobs/{serve_small_image(fake, longship, tmp_path)}"
    fake.blobs[layer] += b"more"
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 1
    assert "more comes than" in done.stderr


@pytest.mark.parametrize("manifest, words", [
    (b"[]", "manifest"), (b"{}", "config"), (b'{"config": 7, "layers": []}', "config"),
    (b'{"config": {"digest": "sha256:../../x", "size": 3}, "layers": []}', "digest"),
    (b'{"schemaVersion": 1, "config": {}, "layers": []}', "first kind"),
    (b'{"manifests": []}', "no image for this machine"), (b"\xff\xfe", "manifest")])
def test_a_manifest_that_makes_no_sense_is_an_error_that_says_what(longship, fake, manifest, words):
    fake.blobs["/v2/small/manifests/v1"] = manifest
    done = longship("image", "pull", f"{fake.host}/small:v1")
    assert done.returncode in (1, 2, 3)
    assert words in done.stderr
    assert "small:v1" in done.stderr


def serve_index(server, longship, tmp_path, *architectures):
    """The image "small" for one architecture after another, behind one index; each has a file with its name."""
    manifests = []
    for name in architectures:
        write_layout(tmp_path / name, [tar_of({"for": name.encode()})], architecture=name)
        digest = json.loads((tmp_path / name / "index.json").read_text())["manifests"][0]["digest"]
        for blob in (tmp_path / name / "blobs/sha256").iterdir():
            server.blobs[f"/v2/small/blobs/sha256:{blob.name}"] = blob.read_bytes()
        server.blobs[f"/v2/small/manifests/{digest}"] = server.blobs[f"/v2/small/blobs/{digest}"]
        manifests.append({"digest": digest, "size": 1, "platform": {"os": "linux", "architecture": name}})
    manifests.append({"digest": "sha256:" + 64 * "0", "size": 1, "platform": {"os": "unknown", "architecture": "unknown"}})
    server.blobs["/v2/small/manifests/v1"] = json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()
    return [entry["digest"] for entry in manifests]


def test_of_an_index_the_architecture_that_is_asked_for(longship, fake, tmp_path):
    serve_index(fake, longship, tmp_path, "amd64", "arm64", "s390x")
    for word in ("arm64", "aarch64"):
        done = longship("image", "pull", f"{fake.host}/small:v1", "--arch", word)
        assert done.returncode == 0, done.stderr
        out = tmp_path / f"out-{word}"
        assert longship("image", "export", "small:v1-aarch64", out, "--format", "directory").returncode == 0
        assert (out / "for").read_text() == "arm64"
    assert longship("image", "pull", f"{fake.host}/small:v1", "--arch", "s390x", "-t", "other").returncode == 0
    assert longship("image", "show", "other").returncode == 0


def test_an_architecture_that_an_index_lacks_is_an_error_with_those_it_has(longship, fake, tmp_path):
    _, other, _ = serve_index(fake, longship, tmp_path, "ppc64le", "s390x")
    for words, said in (([], f"no image for this machine ({os.uname().machine}); it has ppc64le, s390x"),
                        (["--arch", "arm64"], "no image for aarch64; it has ppc64le, s390x")):
        done = longship("image", "pull", f"{fake.host}/small:v1", *words)
        assert done.returncode == 3
        assert done.stderr.rstrip().endswith(said), done.stderr
    # A manifest that no index led to says what it is for in its configuration, which comes before the layers.
    fake.asked.clear()
    done = longship("image", "pull", f"{fake.host}/small@{other}", "--arch", "arm64", "-t", "x")
    assert done.returncode == 3
    assert done.stderr.rstrip().endswith("no image for aarch64; it has s390x"), done.stderr
    assert sum("/blobs/" in path for path, _, _ in fake.asked) == 1


def test_a_redirect_to_another_host_gets_no_password(longship, made, fake, tmp_path):
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    other.blobs, other.asked = {}, []
    threading.Thread(target=other.serve_forever, daemon=True).start()
    serve_small_image(fake, longship, tmp_path)
    (Path(longship.environment["HOME"]) / ".docker").mkdir()
    (Path(longship.environment["HOME"]) / ".docker/config.json").write_text(json.dumps(
        {"auths": {fake.host: {"auth": base64.b64encode(b"ada:secret").decode()}}}))
    manifest = fake.blobs["/v2/small/manifests/v1"]

    def ask_for_password(request):
        if not request.headers.get("Authorization"):
            request.send_response(401)
            request.send_header("WWW-Authenticate", 'Basic realm="lab"')
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.send_response(200)
        request.send_header("Content-Length", str(len(manifest)))
        request.end_headers()
        request.wfile.write(manifest)

    def redirect(request):
        request.send_response(307)
        request.send_header("Location", f"http://127.0.0.1:{other.server_address[1]}{request.path}")
        request.send_header("Content-Length", "0")
        request.end_headers()

    fake.blobs["/v2/small/manifests/v1"] = ask_for_password
    for path in [path for path in fake.blobs if "/blobs/" in path]:
        other.blobs[path] = fake.blobs[path]
        fake.blobs[path] = redirect
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    other.shutdown()
    assert done.returncode == 0, done.stderr
    assert {password for _, password, _ in other.asked} == {None}
    assert any(password for _, password, _ in fake.asked)


def use_mirrors(longship, **mirrors):
    """registries.toml: for each host the hosts to ask first."""
    text = "version = 1\n" + "".join(f'[[registry]]\nhost = "{host}"\nmirrors = {json.dumps(names)}\n'
                                     for host, names in mirrors.items())
    path = Path(longship.environment["HOME"]) / ".config/longship/registries.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_mirror_is_asked_first_and_the_registry_when_it_is_down(longship, made, plain):
    with registry() as mirror:
        use_mirrors(longship, **{plain.host: [mirror.host]})
        assert longship("image", "push", "small", f"{mirror.host}/mirrored:v1").returncode == 0
        done = longship("image", "pull", f"{plain.host}/mirrored:v1", "-t", "back")  # which the registry itself lacks
        assert done.returncode == 0, done.stderr
        # Where a mirror does not have something, the registry is asked.
        assert longship("image", "push", "small", f"{plain.host}/own:v1").returncode == 0
        done = longship("image", "pull", f"{plain.host}/own:v1", "-t", "own")
        assert done.returncode == 0, done.stderr
    longship("image", "rm", "back", "own")
    longship("image", "gc")
    done = longship("-v", "image", "pull", f"{plain.host}/own:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert f"{mirror.host}/own:v1 does not give it" in done.stderr


def test_a_mirror_gets_no_password_of_the_registry_and_the_registry_none_of_its(longship, made, fake, tmp_path):
    with registry("ada", "secret") as origin:
        (Path(longship.environment["HOME"]) / ".docker").mkdir()
        (Path(longship.environment["HOME"]) / ".docker/config.json").write_text(json.dumps(
            {"auths": {origin.host: {"auth": base64.b64encode(b"ada:secret").decode()}}}))
        assert longship("image", "push", "small", f"{origin.host}/small:v1").returncode == 0
        use_mirrors(longship, **{origin.host: [fake.host]})

        def wants_password(request):
            request.send_response(401)
            request.send_header("WWW-Authenticate", 'Basic realm="lab"')
            request.send_header("Content-Length", "0")
            request.end_headers()

        fake.blobs["/v2/small/manifests/v1"] = wants_password
        done = longship("image", "pull", f"{origin.host}/small:v1", "-t", "back")
        assert done.returncode == 0, done.stderr
    assert {password for _, password, _ in fake.asked} == {None}


def test_a_mirror_that_lies_is_found_out_and_the_registry_asked(longship, made, fake, plain, tmp_path):
    assert longship("image", "push", "small", f"{plain.host}/small:v1").returncode == 0
    layer = f"/v2/small/blobs/{serve_small_image(fake, longship, tmp_path)}"
    fake.blobs[layer] = b"x" * len(fake.blobs[layer])
    use_mirrors(longship, **{plain.host: [fake.host]})
    done = longship("image", "pull", f"{plain.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert longship("image", "verify").returncode == 0


def asked_for(server, path):
    return sum(1 for asked, _, _ in server.asked if asked == path)


def test_a_layer_that_another_image_brought_is_not_fetched_again(longship, made, fake, tmp_path):
    layer = f"/v2/small/blobs/{serve_small_image(fake, longship, tmp_path)}"
    fake.blobs["/v2/small/manifests/v2"] = fake.blobs["/v2/small/manifests/v1"]
    for tag in ("v1", "v2"):
        done = longship("image", "pull", f"{fake.host}/small:{tag}")
        assert done.returncode == 0, done.stderr
    assert asked_for(fake, layer) == 1
    pulled = Path(longship.environment["LONGSHIP_STORE"]) / "pulled/sha256"
    assert longship("image", "rm", "small:v1").returncode == 0
    assert longship("image", "gc").returncode == 0
    assert len(list(pulled.iterdir())) == 2  # small:v2 still needs them: a layer and the configuration
    assert longship("image", "rm", "small:v2").returncode == 0
    assert longship("image", "gc").returncode == 0
    assert not list(pulled.iterdir())


def test_an_interrupted_pull_goes_on_with_what_is_missing(longship, made, fake, tmp_path):
    layer = f"/v2/small/blobs/{serve_small_image(fake, longship, tmp_path)}"
    config = next(path for path in fake.blobs if "/blobs/" in path and path != layer)
    content = fake.blobs.pop(config)
    assert longship("image", "pull", f"{fake.host}/small:v1", "-t", "back").returncode == 1
    fake.blobs[config] = content
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert asked_for(fake, layer) == 1


def test_a_kept_blob_that_was_damaged_is_fetched_again(longship, made, fake, tmp_path):
    digest = serve_small_image(fake, longship, tmp_path)
    assert longship("image", "pull", f"{fake.host}/small:v1", "-t", "one").returncode == 0
    kept = Path(longship.environment["LONGSHIP_STORE"]) / "pulled/sha256" / digest.split(":")[1]
    kept.write_bytes(b"x" * kept.stat().st_size)
    done = longship("image", "pull", f"{fake.host}/small:v1", "-t", "two")
    assert done.returncode == 0, done.stderr
    assert "has changed since: it is fetched again" in done.stderr
    assert asked_for(fake, f"/v2/small/blobs/{digest}") == 2
    kept.write_bytes(b"y" * kept.stat().st_size)
    done = longship("image", "verify")
    assert done.returncode == 0 and "was removed" in done.stderr and not kept.exists()


def test_several_processes_pull_the_same_at_the_same_time_while_gc_runs(longship, made, plain):
    assert longship("image", "push", "small", f"{plain.host}/many:v1").returncode == 0
    pulls = [longship.start("image", "pull", f"{plain.host}/many:v1", "-t", f"many{number}") for number in range(4)]
    for _ in range(3):
        assert longship("image", "gc").returncode == 0
    for pull in pulls:
        _, errors = pull.communicate(timeout=60)
        assert pull.returncode == 0, errors
    assert longship("image", "verify").returncode == 0


def test_verify_finds_a_changed_byte_and_gc_keeps_what_is_needed(longship, made):
    assert longship("image", "verify").returncode == 0
    before = json.loads(longship("--json", "image", "show", "small").stdout)
    assert longship("image", "gc", "--steps").returncode == 0
    path = Path(before["path"])
    assert path.exists()
    path.chmod(0o644)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    done = longship("image", "verify")
    assert done.returncode == 1
    assert "its content has changed" in done.stderr and "small" in done.stderr


def test_a_store_of_the_centre_is_read_and_never_written(longship, made, tmp_path):
    central = tmp_path / "central"
    Path(longship.environment["LONGSHIP_STORE"]).rename(central)
    longship.environment["LONGSHIP_CENTRAL_STORE"] = str(central)
    before = sorted(str(path) for path in central.rglob("*"))
    assert "small" in longship("image", "ls").stdout
    assert longship("image", "show", "small").returncode == 0
    done = longship("image", "rm", "small")
    assert done.returncode == 1 and "only its owner" in done.stderr
    assert sorted(str(path) for path in central.rglob("*")) == before
