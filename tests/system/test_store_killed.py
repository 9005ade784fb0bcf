# SPDX-License-Identifier: Apache-2.0
"""kill -9 between any two steps of whoever changes the store: it stays valid, and the next one does what was left undone."""

import json
import shutil
from pathlib import Path

import pytest
from image_files import tar_of, write_layout

POINTS = ["store.begun", "store.synced", "store.named", "store.forgotten", "store.removed"]
MOST = 40  # steps of one kind that a command has: more would mean that it never ends
KILLED = -9


@pytest.fixture
def layout(tmp_path):
    write_layout(tmp_path / "layout", [tar_of({"a": b"new", "etc/new": b"x" * 5000})])
    return tmp_path / "layout"


@pytest.fixture
def prepared(longship, layout, tmp_path):
    """A store with an image that has to survive, one that is replaced or removed, and what a purge left of another."""
    for name, content in (("kept", b"kept"), ("changed", b"old"), ("purged", b"gone")):
        (tmp_path / f"{name}.tar").write_bytes(tar_of({"a": content}))
        done = longship("image", "import", tmp_path / f"{name}.tar", "-t", name)
        assert done.returncode == 0, done.stderr
    record = Path(longship.environment["LONGSHIP_STORE"]) / "images/purged.json"
    record.unlink()  # so that there is garbage
    return shutil.copytree(longship.environment["LONGSHIP_STORE"], tmp_path / "before")


def content_of(longship, name, tmp_path):
    to = tmp_path / "exported"
    done = longship("image", "export", name, to, "--format", "directory")
    assert done.returncode == 0, done.stderr
    content = (to / "a").read_bytes()
    shutil.rmtree(to)
    return content


COMMANDS = {
    "import": (lambda layout: ["import", layout, "-t", "changed"], b"new"),
    "rm": (lambda layout: ["rm", "changed"], None),
    "gc": (lambda layout: ["gc", "--steps"], b"old"),
}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_leaves_the_store_valid(longship, layout, prepared, tmp_path, command, point):
    words, after = COMMANDS[command]
    store = Path(longship.environment["LONGSHIP_STORE"])
    for count in range(1, MOST):
        shutil.rmtree(store)
        shutil.copytree(prepared, store)
        done = longship("image", *words(layout),
                        env=longship.environment | {"LONGSHIP_FAILPOINTS": f"{point}=kill:{count}"})
        if done.returncode == 0:
            break
        assert done.returncode == KILLED, done.stderr
        look_at(longship, tmp_path, before=b"old", after=after)
        again = longship("image", *words(layout))
        if command == "rm" and again.returncode != 0:  # the name was gone, which is all that was promised
            assert 'there is no image "changed"' in again.stderr
        else:
            assert again.returncode == 0, again.stderr
        assert longship("image", "gc").returncode == 0
        expect_nothing_spare(longship, store)
    else:
        pytest.fail(f"{point} was passed {MOST} times")
    expected = {"import": {"store.begun": 2, "store.synced": 2, "store.named": 2}, "rm": {"store.forgotten": 1, "store.removed": 2},
                "gc": {"store.removed": 1}}
    assert count > expected[command].get(point, 0), "the command no longer passes where it is to be killed"


def look_at(longship, tmp_path, before, after):
    """Everything that has a name is whole, and is what it was or what it is to be."""
    verified = longship("image", "verify")
    assert verified.returncode == 0, verified.stderr
    names = {image["name"] for image in json.loads(longship("--json", "image", "ls").stdout)}
    assert "kept" in names
    assert content_of(longship, "kept", tmp_path) == b"kept"
    if "changed" in names:
        assert content_of(longship, "changed", tmp_path) in (before, after)
    else:
        assert after is None


def expect_nothing_spare(longship, store):
    needed = {image["root"].split(":")[1] for image in json.loads(longship("--json", "image", "ls").stdout)}
    assert {path.name for path in (store / "blobs/sha256").iterdir()} == needed
    assert not list((store / "asides").iterdir())


def test_what_a_purge_took_is_named_and_can_be_made_again(longship, layout, tmp_path):
    """Scratch directories are purged file by file, whatever belongs together."""
    assert longship("image", "import", layout, "-t", "tools").returncode == 0
    store = Path(longship.environment["LONGSHIP_STORE"])
    for path in (store / "blobs/sha256").iterdir():
        path.unlink()
    done = longship("box", "tools", "--", "/a")
    assert done.returncode == 1
    assert "image tools: its file" in done.stderr and 'is gone; make it again' in done.stderr
    verified = longship("image", "verify")
    assert verified.returncode == 1 and "is missing" in verified.stderr
    assert longship("image", "import", layout, "-t", "tools").returncode == 0
    assert longship("image", "verify").returncode == 0
    shutil.rmtree(store)
    assert longship("image", "ls").returncode == 0
    assert longship("image", "import", layout, "-t", "tools").returncode == 0
    assert content_of(longship, "tools", tmp_path) == b"new"
