# SPDX-License-Identifier: Apache-2.0
"""longship image: import, build, look, remove, with the real program; as root and as an ordinary user."""
import errno
import gzip
import json
import lzma
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest
from image_files import by_gzip, tar_of, write_layout
from seccomp import forbid

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGSHIP = os.environ.get("LONGSHIP", str(ROOT / "build/bin/longship"))


@pytest.fixture(params=["caller", "ordinary user"])
def longship(request, tmp_path):
    """Runs longship with a store of its own."""
    prefix = []
    if request.param == "ordinary user":
        if os.geteuid() != 0:
            pytest.skip("the caller is one")
        prefix = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
        tmp_path.chmod(0o755)
        for parent in tmp_path.parents[:2]:
            parent.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    if prefix:
        os.chown(home, 12345, 12345)

    def run(*words, check=True, **options):
        environment = dict(os.environ, HOME=str(home), LONGSHIP_STORE=str(home / "store"))
        done = subprocess.run([*prefix, LONGSHIP, "image", *map(str, words)], env=environment, cwd="/", text=True,
                              capture_output=True, timeout=100, **options)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    run.home = home
    return run


def by_zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, capture_output=True, check=True).stdout


PACKERS = {"plain": bytes, "gzip": by_gzip, "zstd": by_zstd, "xz": lzma.compress}


def content(longship, image, name):
    path = json.loads(longship("show", image, "--json").stdout)["path"]
    return subprocess.run(["unsquashfs", "-cat", path, name], capture_output=True, check=True).stdout


@pytest.mark.parametrize("options", [["--format=gnu"], *(["--format=pax", f"--sparse-version={version}"]
                                                         for version in ("0.0", "0.1", "1.0"))], ids=lambda words: words[-1])
def test_files_with_holes_keep_them(longship, tmp_path, options):
    """As GNU tar writes them in its four ways; the holes take no room in the image, nor in a directory."""
    root = tmp_path / "root"
    root.mkdir()
    with open(root / "holes", "wb") as file:
        for number in range(30):  # more pieces than a header has room for
            file.seek(number << 18)
            file.write(os.urandom(100))
        file.truncate(1 << 25)
    (root / "after").write_text("whole\n")
    subprocess.run(["tar", "-C", root, "--sparse", *options, "-cf", tmp_path / "x.tar", "holes", "after"], check=True)
    assert (tmp_path / "x.tar").stat().st_size < 1 << 20
    longship("import", tmp_path / "x.tar", "-t", "x")
    assert content(longship, "x", "holes") == (root / "holes").read_bytes()
    assert content(longship, "x", "after") == b"whole\n"
    assert json.loads(longship("show", "x", "--json").stdout)["size"] < 1 << 20
    longship("export", tmp_path / "x.tar", longship.home / "out", "--format", "directory")
    assert (longship.home / "out/holes").read_bytes() == (root / "holes").read_bytes()
    assert (longship.home / "out/holes").stat().st_blocks * 512 < 4 << 20


def test_an_oci_layout_becomes_one_file(longship, tmp_path):
    write_layout(tmp_path / "layout", [tar_of({"a": b"low", "b": b"low"}), tar_of({"a": b"high", ".wh.b": b""})], ["X=1"])
    longship("import", tmp_path / "layout", "-t", "tools:v1")
    assert content(longship, "tools:v1", "a") == b"high"
    shown = json.loads(longship("show", "tools:v1", "--json").stdout)
    assert shown["config"]["environment"] == {"X": "1"}
    assert "tools:v1" in longship("ls").stdout
    longship("rm", "tools:v1")
    assert not list((longship.home / "store/blobs/sha256").iterdir())


def test_a_tar_of_a_layout_and_a_plain_tar_are_told_apart(longship, tmp_path):
    write_layout(tmp_path / "layout", [tar_of({"a": b"1"})])
    with tarfile.open(tmp_path / "layout.tar", "w") as tar:
        tar.add(tmp_path / "layout", ".")
    (tmp_path / "plain.tar.gz").write_bytes(gzip.compress(tar_of({"a": b"2"})))
    longship("import", tmp_path / "layout.tar", "-t", "one")
    longship("import", tmp_path / "plain.tar.gz", "-t", "two")
    assert (content(longship, "one", "a"), content(longship, "two", "a")) == (b"1", b"2")


def test_a_layer_that_was_changed_is_refused_and_leaves_nothing(longship, tmp_path):
    layer = write_layout(tmp_path / "layout", [tar_of({"a": b"1"})])[0]
    (tmp_path / "layout/blobs/sha256" / layer["digest"][7:]).write_bytes(gzip.compress(tar_of({"a": b"2"}), mtime=0))
    done = longship("import", tmp_path / "layout", "-t", "x", check=False)
    assert done.returncode == 1 and "layer 1 of 1: its digest is" in done.stderr
    assert not list((longship.home / "store/asides").iterdir())


def test_a_member_that_would_leave_the_image_is_named(longship, tmp_path):
    (tmp_path / "bad.tar").write_bytes(tar_of({"../../etc/passwd": b"x"}))
    done = longship("import", tmp_path / "bad.tar", "-t", "x", check=False)
    assert done.returncode == 1 and "member ../../etc/passwd" in done.stderr


@pytest.mark.parametrize("kind, code, said", [
    ("device", 2, "it is a device, and a device is no image: give a file or a directory"),
    ("pipe", 2, "it is a pipe, which can be read only once: write what comes of it to a file first"),
    ("zeros", 1, "there is nothing in it: it begins with zeros, as an empty tar archive does"),
    ("packed zeros", 1, "there is nothing in it: it begins with zeros, as an empty tar archive does"),
    ("empty", 1, "it is empty: 0 bytes are no archive"),
    ("words", 1, "a header is damaged, or this is not a tar archive"),
    ("a word", 1, "the archive ends in the middle of a header: it is truncated, or this is not a tar archive"),
])
def test_what_is_no_archive_is_refused_at_once_however_long_it_is(longship, tmp_path, kind, code, said):
    path = tmp_path / "x.tar"
    if kind == "device":
        path = "/dev/zero"
    elif kind == "pipe":
        os.mkfifo(path)  # and nobody writes into it
    elif kind == "packed zeros":
        path.write_bytes(by_gzip(bytes(1 << 20)))
    else:
        path.write_text("what is this? " * {"words": 100, "a word": 1}.get(kind, 0))
    if kind == "zeros":
        os.truncate(path, 1 << 40)
    done = longship("import", path, "-t", "x", check=False)
    assert done.returncode == code and f"cannot import {path}: {said}" in done.stderr
    done = longship("export", path, f"{longship.home}/x.sqfs", check=False)
    assert done.returncode == code and said in done.stderr
    assert not (longship.home / "x.sqfs").exists()


def test_zeros_without_end_behind_an_archive_are_refused(longship, tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of({"a": b"1"}))
    os.truncate(path, 1 << 20)
    longship("import", path, "-t", "padded")
    assert content(longship, "padded", "a") == b"1"
    os.truncate(path, 1 << 40)
    done = longship("import", path, "-t", "x", check=False)
    assert done.returncode == 1 and "more than 64 MiB follow the end of the archive" in done.stderr


def test_a_missing_image_comes_with_a_suggestion(longship, tmp_path):
    (tmp_path / "a.tar").write_bytes(tar_of({"a": b""}))
    longship("import", tmp_path / "a.tar", "-t", "torch")
    done = longship("show", "troch", check=False)
    assert done.returncode == 1 and 'did you mean "torch"?' in done.stderr


TWO_LAYERS = [tar_of({"a": b"low", "b": b"low", "deep/c": b"c" * 300_000}), tar_of({"a": b"high", ".wh.b": b""})]


def has_both_layers(longship, image):
    gone = subprocess.run(["unsquashfs", "-cat", json.loads(longship("show", image, "--json").stdout)["path"], "b"],
                          capture_output=True)
    return content(longship, image, "a") == b"high" and content(longship, image, "deep/c") == b"c" * 300_000 \
        and gone.stdout == b""


@pytest.mark.parametrize("packer", PACKERS)
def test_layers_and_root_tars_come_in_with_every_compression(longship, tmp_path, packer):
    write_layout(tmp_path / "layout", TWO_LAYERS, pack=PACKERS[packer])
    longship("import", tmp_path / "layout", "-t", "layers")
    assert has_both_layers(longship, "layers")
    (tmp_path / "root").write_bytes(PACKERS[packer](tar_of({"a": b"x" * 700_000})))
    longship("import", tmp_path / "root", "-t", "root")
    assert content(longship, "root", "a") == b"x" * 700_000


@pytest.mark.parametrize("packer, words", [("gzip", "the gzip data is truncated"), ("zstd", "the zstd data is truncated"),
                                           ("xz", "the xz data is truncated")])
def test_a_compressed_tar_that_ends_early_is_called_that(longship, tmp_path, packer, words):
    (tmp_path / "root").write_bytes(PACKERS[packer](tar_of({"a": os.urandom(100_000)}))[:50_000])
    done = longship("import", tmp_path / "root", "-t", "root", check=False)
    assert done.returncode == 1 and words in done.stderr, done.stderr


def test_an_archive_as_docker_saves_it(longship, tmp_path):
    write_layout(tmp_path / "layout", TWO_LAYERS, ["X=1"])
    subprocess.run(["skopeo", "copy", "-q", f"oci:{tmp_path}/layout", f"docker-archive:{tmp_path}/saved.tar:tools:v1"],
                   check=True, env=dict(os.environ, HOME=str(tmp_path)))
    longship("import", tmp_path / "saved.tar", "-t", "saved")
    assert has_both_layers(longship, "saved")
    assert json.loads(longship("show", "saved", "--json").stdout)["config"]["environment"] == {"X": "1"}


def write_index(layout, *architectures):
    """A layout with one image for each; each has a file with its name."""
    manifests = []
    for name in architectures:
        write_layout(layout / name, [tar_of({"for": name.encode()})], architecture=name)
        manifests += json.loads((layout / name / "index.json").read_text())["manifests"]
        manifests[-1]["platform"] = {"os": "linux", "architecture": name}
        shutil.copytree(layout / name / "blobs", layout / "blobs", dirs_exist_ok=True)
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": manifests}))


def test_of_several_images_in_a_layout_the_architecture_that_is_asked_for(longship, tmp_path):
    write_index(tmp_path / "layout", "amd64", "arm64", "s390x")
    for word, name in (("aarch64", "arm64"), ("arm64", "arm64"), ("s390x", "s390x")):
        longship("import", tmp_path / "layout", "-t", f"tools:{word}", "--arch", word)
        assert content(longship, f"tools:{word}", "for") == name.encode()


def test_an_architecture_that_is_not_there_is_an_error_with_those_that_are(longship, tmp_path):
    write_index(tmp_path / "layout", "ppc64le", "s390x")
    (tmp_path / "root.tar").write_bytes(tar_of({"a": b"x"}))
    (tmp_path / "tree").mkdir()
    alone = tmp_path / "layout/s390x"  # only its configuration says what it is for
    subprocess.run(["skopeo", "copy", "-q", f"oci:{alone}", f"docker-archive:{tmp_path}/saved.tar:tools:v1"],
                   check=True, env=dict(os.environ, HOME=str(tmp_path)))
    for path, code, words in (("layout", 3, "it has no image for aarch64; it has ppc64le, s390x"),
                              (alone, 3, "it has no image for aarch64; it has s390x"),
                              ("saved.tar", 3, "it has no image for aarch64; it has s390x"),
                              ("root.tar", 2, "it does not say what it is for: only OCI layouts and docker archives do"),
                              ("tree", 2, "it does not say what it is for: only OCI layouts and docker archives do")):
        done = longship("import", tmp_path / path, "-t", "x", "--arch", "arm64", check=False)
        assert done.returncode == code and done.stderr.rstrip().endswith(words), done.stderr


def test_a_squashfs_file_of_another_tool(longship, tmp_path):
    (tmp_path / "root/deep").mkdir(parents=True)
    (tmp_path / "root/deep/c").write_bytes(b"c" * 300_000)
    subprocess.run(["mksquashfs", tmp_path / "root", tmp_path / "x.sqfs", "-comp", "gzip", "-quiet", "-no-progress"],
                   check=True, capture_output=True)
    longship("import", tmp_path / "x.sqfs", "-t", "x")
    assert content(longship, "x", "deep/c") == b"c" * 300_000


@pytest.mark.parametrize("name", ["layout", "x.oci.tar", "x.tar", "x.tar.gz", "x.sqfs"])
def test_a_layout_becomes_something_else_without_the_store(longship, tmp_path, name):
    write_layout(tmp_path / "from", TWO_LAYERS)
    longship("export", tmp_path / "from", longship.home / name)
    assert not (longship.home / "store").exists()
    longship("import", longship.home / name, "-t", "again")
    assert has_both_layers(longship, "again")


def test_a_layout_becomes_a_directory_of_its_caller(longship, tmp_path):
    write_layout(tmp_path / "from", TWO_LAYERS)
    longship("export", tmp_path / "from", longship.home / "root", "--format", "directory")
    root = longship.home / "root"
    assert (root / "a").read_bytes() == b"high" and not (root / "b").exists() and (root / "proc").is_dir()
    assert (root / "a").stat().st_uid == longship.home.stat().st_uid and (root / "a").stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in longship.home.iterdir()) == ["root"]


def test_a_layer_that_was_changed_leaves_no_directory(longship, tmp_path):
    layer = write_layout(tmp_path / "from", [tar_of({"a": b"1"})])[0]
    (tmp_path / "from/blobs/sha256" / layer["digest"][7:]).write_bytes(gzip.compress(tar_of({"a": b"2"}), mtime=0))
    done = longship("export", tmp_path / "from", longship.home / "root", "--format", "directory", check=False)
    assert done.returncode == 1 and "layer 1 of 1: its digest is" in done.stderr
    assert not list(longship.home.iterdir())


def test_the_same_layers_give_the_same_bytes_on_one_core_and_on_all(longship, tmp_path):
    files = {f"d{number % 7}/f{number}": os.urandom(number * 37) + b"z" * number * 1000 for number in range(300)}
    write_layout(tmp_path / "from", [tar_of(files)])
    longship("export", tmp_path / "from", longship.home / "all.sqfs")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        longship("export", tmp_path / "from", longship.home / "one.sqfs")
    finally:
        os.sched_setaffinity(0, allowed)
    assert (longship.home / "all.sqfs").read_bytes() == (longship.home / "one.sqfs").read_bytes()


@pytest.fixture
def busybox(longship, tmp_path):
    """An image with a static shell."""
    program = shutil.which("busybox")
    if program is None or "statically" not in subprocess.run(["file", program], capture_output=True, text=True).stdout:
        pytest.skip("needs a static busybox")
    shell = pathlib.Path(program).read_bytes()
    (tmp_path / "base.tar").write_bytes(tar_of({"bin/sh": shell, "bin/busybox": shell}))
    longship("import", tmp_path / "base.tar", "-t", "base")


def test_a_dockerfile_is_built_and_the_second_time_nothing_runs(longship, busybox, tmp_path):
    context = tmp_path / "context"
    context.mkdir()
    (context / "kept").write_text("kept")
    (context / "secret").write_text("secret")
    (context / ".dockerignore").write_text("secret\n")
    (context / "Dockerfile").write_text(
        'ARG BASE=base\nFROM $BASE\nENV WORD="hello there"\nWORKDIR /work\nCOPY . .\n'
        'RUN echo ran >&2; \\\n  echo "$WORD" > said && busybox rm -f /work/Dockerfile\nCMD ["/bin/sh"]\n')
    first = longship("build", "-t", "built", context)
    assert "\nran\n" in first.stderr
    assert content(longship, "built", "work/said") == b"hello there\n"
    assert content(longship, "built", "work/kept") == b"kept"
    second = longship("build", "-t", "built", context)
    assert "\nran\n" not in second.stderr
    (context / "kept").write_text("changed")
    assert "\nran\n" in longship("build", "-t", "built", context).stderr
    assert content(longship, "built", "work/kept") == b"changed"


@pytest.mark.parametrize("answer", [errno.ENOSYS, errno.EPERM, errno.EXDEV], ids=["ENOSYS", "EPERM", "EXDEV"])
def test_a_base_is_copied_where_the_kernel_does_not_do_it(longship, tmp_path, answer):
    """copy_file_range came with Linux 4.5, and between file systems with 5.3."""
    large = os.urandom(700_000)  # more than is copied in one go
    (tmp_path / "base.tar").write_bytes(tar_of({"large": large, "changed": b"old"}))
    longship("import", tmp_path / "base.tar", "-t", "base")
    context = tmp_path / "context"
    context.mkdir()
    (context / "changed").write_text("new")
    (context / "Dockerfile").write_text("FROM base\nCOPY changed /\n")
    longship("build", "-t", "built", context, preexec_fn=forbid(b"copy_file_range", answer))
    assert content(longship, "built", "large") == large
    assert content(longship, "built", "changed") == b"new"


@pytest.mark.parametrize("text, error", [
    ("FROM base\nRNU true\n", ':2: unknown instruction RNU: did you mean "RUN"?'),
    ("RUN true\n", ":1: RUN comes before FROM"),
    ("FROM base\nFROM base\n", "several stages"),
    ("FROM nowhere\n", "longship image pull REGISTRY/nowhere -t nowhere; longship image bootstrap makes a Debian"),
    ("FROM debian:bookworm\n", "bring it first: longship image bootstrap debian:bookworm -t debian:bookworm, or: "),
    ("FROM host.example.org:5000/a/b:v1\n", "longship image pull host.example.org:5000/a/b:v1; then it is FROM b:v1"),
    ("FROM scratch\nCOPY missing /\n", ":2:"),
    ("FROM scratch\nCOPY ../x /\n", "could leave"),
])
def test_a_wrong_dockerfile_is_named_by_its_line(longship, tmp_path, text, error):
    (tmp_path / "Dockerfile").write_text(text)
    done = longship("build", "-t", "x", tmp_path, check=False)
    assert done.returncode in (1, 2) and error in done.stderr, done.stderr
