# SPDX-License-Identifier: Apache-2.0
"""Images from strangers, with the real program: nothing is written outside, memory stays bounded, the error names the
layer and the member. The single attacks are in tests/image and tests/box; here is what only the whole shows."""

import gzip
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest
from conftest import PROGRAM, needs, wait_until
from image_files import sha256, tar_of, write_layout
from test_box import USR, fuse, holders, image, tree  # noqa: F401  (fixtures)


def member(name, kind=tarfile.REGTYPE, content=b"", link="", mode=0o644, **more):
    """A tar of one member, which need not be an honest one."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(content)
    info.pax_headers = more.get("pax", {})
    return info, io.BytesIO(content)


def tar(*members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, content)
    return buffer.getvalue()


def everything_in(directory):
    return sorted((str(path), path.lstat().st_size) for path in directory.rglob("*"))


ATTACKS = {
    "up and out": (tar(member("a/../../x")), "member a/../../x"),
    "through a link": (tar(member("a", tarfile.SYMTYPE, link="/etc"), member("a/x")), "member a/x"),
    "a link as the root": (tar(member(".", tarfile.SYMTYPE, link="/etc")), "member ."),
    "a hard link out": (tar(member("a", tarfile.LNKTYPE, link="../../etc/shadow")), "member a"),
    "a whiteout of the parent": (tar(member("a/.wh...")), "member a/.wh..."),
    "a huge attribute": (tar(member("a", pax={"SCHILY.xattr.user.x": "x" * 70000})), "member a"),
    "a circle of hard links": (tar(member("a", tarfile.LNKTYPE, link="b"), member("b", tarfile.LNKTYPE, link="a")),
                               "leads back to itself"),
    "a name for a terminal": (tar(member("\x1b[2J\x07/../../x")), "member \\x1b[2J\\x07/../../x"),
    "a size that is a lie": (tar(member("a", content=b"x" * 2000))[:1500], "member a"),
}


@pytest.mark.parametrize("whom", ["root", "user"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_and_named(longship, as_user, tmp_path, attack, whom):
    """As a layer of an image, of which the first is harmless, and as the root tar of one."""
    if whom == "root" and os.getuid() != 0:
        pytest.skip("needs root")
    options = as_user if whom == "user" else {}
    layer, words = ATTACKS[attack]
    write_layout(tmp_path / "layout", [tar_of({"a": b"low"}), layer])
    (tmp_path / "x.tar").write_bytes(layer)
    home = Path(longship.environment["HOME"])
    before = everything_in(tmp_path / "layout")
    for path, name in (tmp_path / "layout", "layer 2 of 2: "), (tmp_path / "x.tar", "x.tar: "):
        done = longship("image", "import", path, "-t", "evil", **options)
        assert done.returncode == 1, done.stderr
        assert name in done.stderr and words in done.stderr, done.stderr
        assert "\x1b" not in done.stderr and "\x07" not in done.stderr
    assert everything_in(tmp_path / "layout") == before
    assert not list((home / "store/asides").iterdir()) and not list((home / "store").rglob("blobs/sha256/*"))
    assert not (tmp_path / "x").exists() and not Path("/etc/x").exists()


# In a small process of its own: what starts a program counts as the program's memory until it has begun.
PEAK_MEMORY = """
import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_memory(longship, *words):
    """Bytes that the program held at most, and how it ended."""
    done = subprocess.run([sys.executable, "-c", PEAK_MEMORY, PROGRAM, *map(str, words)], env=longship.environment,
                          capture_output=True, text=True)
    return int(done.stdout.splitlines()[-1]), done.returncode, done.stderr


def test_a_bomb_takes_time_but_no_memory(longship, tmp_path):
    """A gigabyte of zeros and one of text, each in a megabyte; and headers that go on and on."""
    with gzip.open(tmp_path / "bomb.tar.gz", "wb", compresslevel=1) as packed:
        for name, piece in ("zeros", bytes(1 << 20)), ("text", b"longship" * (1 << 17)):
            info = tarfile.TarInfo(name)
            info.size = 512 << 20
            packed.write(info.tobuf())
            for _ in range(512):
                packed.write(piece)
        packed.write(bytes(1024))
    assert (tmp_path / "bomb.tar.gz").stat().st_size < 12 << 20
    memory, code, complaint = peak_memory(longship, "image", "import", tmp_path / "bomb.tar.gz", "-t", "bomb")
    assert code == 0, complaint
    assert memory < 200 << 20
    info = tarfile.TarInfo("x")
    info.pax_headers = {"path": "n" * 900_000}
    pax = info.tobuf(tarfile.PAX_FORMAT)[:-512]  # without the member that it is for
    (tmp_path / "headers.tar.gz").write_bytes(gzip.compress(pax * 50, 1))
    memory, code, complaint = peak_memory(longship, "image", "import", tmp_path / "headers.tar.gz", "-t", "headers")
    assert code == 1 and "larger than the 1048576 allowed" in complaint
    assert memory < 100 << 20


class Endless(http.server.BaseHTTPRequestHandler):
    """A registry whose index leads to an index, each with the right digest, for as long as one asks."""

    def log_message(self, *words):
        pass

    def do_GET(self):
        self.server.asked += 1
        answer = self.server.documents.get(self.path.rsplit("/", 1)[-1])
        self.send_response(200 if answer else 404)
        self.send_header("Content-Length", str(len(answer or b"")))
        self.end_headers()
        self.wfile.write(answer or b"")


@pytest.fixture
def endless():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    server.documents, server.asked = {}, 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.host = f"localhost:{server.server_address[1]}"
    yield server
    server.shutdown()


def test_a_registrys_index_without_end_is_refused(longship, endless):
    document = b"{}"
    for _ in range(50):
        endless.documents[sha256(document)] = document
        document = json.dumps({"schemaVersion": 2, "manifests": [{"digest": sha256(document)}]}).encode()
    endless.documents["v1"] = document
    done = longship("image", "pull", f"{endless.host}/team/evil:v1")
    assert done.returncode == 1 and "leads to an index that leads to an index" in done.stderr, done.stderr
    assert endless.asked < 20


def test_a_registrys_manifest_that_is_an_index_too_is_refused(longship, endless):
    digest = {"digest": sha256(b""), "size": 0}
    endless.documents["v1"] = json.dumps({"manifests": [digest], "config": digest, "layers": [digest]}).encode()
    done = longship("image", "pull", f"{endless.host}/team/evil:v1")
    assert done.returncode == 1 and "both an index and a manifest" in done.stderr, done.stderr


@pytest.fixture
def static_shell():
    program = shutil.which("busybox")
    if program is None or "statically" not in subprocess.run(["file", program], capture_output=True, text=True).stdout:
        pytest.skip("needs a static busybox")
    return Path(program).read_bytes()


EVIL_ENVIRONMENT = ["LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/evil", "LD_AUDIT=/evil.so", "PATH=/evil:/bin",
                    "PYTHONSTARTUP=/evil.py", "LONGSHIP_SQUASHFS=kernel"]


def test_an_images_variables_reach_nobody_outside(longship, static_shell, fuse, as_user, tmp_path):  # noqa: F811
    """Neither the process that serves its files, nor what Longship calls on the host."""
    write_layout(tmp_path / "layout", [tar_of({"bin/sh": static_shell, "bin/cat": static_shell})], EVIL_ENVIRONMENT)
    done = longship("image", "import", tmp_path / "layout", "-t", "evil", **as_user)
    assert done.returncode == 0, done.stderr
    file = json.loads(longship("--json", "image", "show", "evil", **as_user).stdout)["path"]
    longship.environment["LONGSHIP_SQUASHFS"] = "fuse"
    box = longship.start("box", "evil", "--", "/bin/sh", "-c", "echo $LD_PRELOAD; read x", stdin=subprocess.PIPE, **as_user)
    assert box.stdout.readline() == "/evil.so\n"  # its own business, inside
    for keeper in wait_until(lambda: [pid for pid in holders(file) if pid != box.pid], "the image's keeper"):
        environment = Path(f"/proc/{keeper}/environ").read_bytes()
        assert b"evil" not in environment
    box.stdin.write("\n")
    box.stdin.flush()
    assert box.wait() == 0
    assert "evil.so" not in box.stderr.read()
    for words in ("image", "show", "evil"), ("check", "evil"), ("image", "export", "evil", tmp_path / "out.tar"):
        done = longship(*words, **as_user)
        assert "preload" not in done.stderr, done.stderr


def test_labels_and_variables_are_shown_without_their_escapes(longship, tmp_path):
    write_layout(tmp_path / "layout", [tar_of({"a": b""})], ["A\x1b[2J=\x1b]0;x\x07"], {"\x1b[1mkey": "\x1b[2Jvalue"})
    assert longship("image", "import", tmp_path / "layout", "-t", "evil").returncode == 0
    shown = longship("image", "show", "evil").stdout
    assert "\\x1b[1mkey=\\x1b[2Jvalue" in shown and "A\\x1b[2J=" in shown
    assert "\x1b" not in shown + longship("image", "ls").stdout


def test_the_program_itself_is_out_of_an_images_reach(longship, as_user, tmp_path, static_shell):
    """A user's own copy, which the user may write to; the image's first program is /proc/self/exe."""
    copy = tmp_path / "bin" / "longship"
    copy.parent.mkdir()
    shutil.copy(Path(PROGRAM).resolve(), copy)
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "busybox").write_bytes(static_shell)
    (root / "bin" / "busybox").chmod(0o755)
    (root / "bin" / "sh").write_text("#!/proc/self/exe\n")
    (root / "bin" / "sh").chmod(0o755)
    if as_user:
        for path in [copy.parent, *tmp_path.rglob("*")]:
            os.chown(path, as_user["user"], as_user["group"], follow_symlinks=False)
    before = copy.read_bytes()
    done = subprocess.run([copy, "box", "--no-home", "--private-tmp", root], env=longship.environment, cwd="/",
                          capture_output=True, text=True, timeout=60, **as_user)
    assert done.returncode == 126 and "/bin/sh leads to Longship's own program through /proc" in done.stderr, done.stderr
    # And whatever runs in a box does not see those who run Longship outside.
    waiting = subprocess.Popen([copy, "box", "--no-home", root, "--", "/bin/busybox", "sleep", "60"], cwd="/",
                               env=longship.environment, **as_user)
    script = "for p in /proc/[0-9]*; do /bin/busybox readlink $p/exe; done"
    done = subprocess.run([copy, "box", "--no-home", root, "--", "/bin/busybox", "sh", "-c", script], cwd="/",
                          env=longship.environment, capture_output=True, text=True, timeout=60, **as_user)
    waiting.kill()
    waiting.wait()
    assert str(copy) not in done.stdout
    assert copy.read_bytes() == before


@needs("mksquashfs")
@pytest.mark.parametrize("way", ["unpacked", "fuse"])
def test_a_squashfs_file_of_random_damage_harms_nobody(longship, image, fuse, as_user, way):  # noqa: F811
    """One byte after the other is changed: the box is refused, or what is damaged in it cannot be read. Programs are the
    host's, so that whatever crashes is ours."""
    whole = image.read_bytes()
    tables = int.from_bytes(whole[64:72], "little")
    longship.environment |= {"LONGSHIP_SQUASHFS": way, "LONGSHIP_SHARE": "no"}
    endings = set()
    for at in [*range(12, 96, 6), *range(tables, int.from_bytes(whole[40:48], "little"), 5)]:
        spoiled = bytearray(whole)
        spoiled[at] ^= 0xff
        image.write_bytes(spoiled)
        done = longship("box", "--no-home", *USR, image, "--", "sh", "-c", "ls -lR /etc; cat /etc/marker", **as_user)
        assert done.returncode >= 0 and "terminate" not in done.stderr, (at, done)
        endings.add(done.returncode)
    assert {0, 1} <= endings  # some do no harm, some are refused
