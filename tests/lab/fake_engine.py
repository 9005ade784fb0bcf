#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fake of apptainer, sarus and podman-hpc, by the name it is called under.

It takes the options that the real ones document, and no others; writes its command line down ($FAKE_ENGINE_LOG, one JSON
list a line); and runs the command in a box of Longship ($FAKE_ENGINE_LONGSHIP), which passes the environment on as
these engines do by default. Images of sarus are unpacked below $FAKE_ENGINE_IMAGES.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path


def strict(words, *options):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for names, settings in options:
        parser.add_argument(*names, **settings)
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


FLAG, MANY, ONE = {"action": "store_true"}, {"action": "append", "default": []}, {}


def box(image, command, binds, directory, *words):
    """Becomes a box; a variable of the host that boxes do not keep is set, as these engines keep all of them."""
    longship = os.environ["FAKE_ENGINE_LONGSHIP"]
    words += ("--env", "LONGSHIP_ENGINE=" + os.environ.pop("LONGSHIP_ENGINE", "own"))  # for inside; this box is our own
    for bind in binds:
        words += ("--bind", bind)
    os.execv(longship, [longship, "box", "--no-home", "--env", f"FAKE_ENGINE={Path(sys.argv[0]).name}", *words,
                        "--cwd", directory, image, "--", *command])


def apptainer(words):
    assert words[0] == "exec", words
    told = strict(words[1:], (["--no-home"], FLAG), (["--writable-tmpfs"], FLAG), (["--nv"], FLAG), (["--rocm"], FLAG),
                  (["--no-mount"], ONE), (["--scratch"], ONE), (["--bind"], MANY), (["--pwd"], ONE))
    assert os.path.isfile(told.image) or os.path.isdir(told.image), told.image
    box(told.image, told.command, told.bind, told.pwd, *(["--writable"] if told.writable_tmpfs else []))


def parse_mount(text):
    parts = dict((part.split("=", 1) + [""])[:2] for part in text.split(","))
    assert parts.pop("type") == "bind", text
    bind = f"{parts.pop('source')}:{parts.pop('destination')}"
    read_only = parts.pop("readonly", None) is not None
    assert not parts, text
    return bind + (":ro" if read_only else "")


def load_image(archive, name):
    """As skopeo reads what `docker save` writes: by the manifest, each layer by its digest."""
    place = Path(os.environ["FAKE_ENGINE_IMAGES"]) / "load" / name
    place.mkdir(parents=True)
    with tarfile.open(archive) as outer:
        (entry,) = json.load(outer.extractfile("manifest.json"))
        assert entry["RepoTags"] == [name], entry
        config = outer.extractfile(entry["Config"]).read()
        assert entry["Config"] == hashlib.sha256(config).hexdigest() + ".json"
        for layer, wanted in zip(entry["Layers"], json.loads(config)["rootfs"]["diff_ids"], strict=True):
            assert "sha256:" + hashlib.sha256(outer.extractfile(layer).read()).hexdigest() == wanted
            with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
                inner.extractall(place)


def sarus(words):
    images = Path(os.environ["FAKE_ENGINE_IMAGES"])
    if words[0] == "images":
        print("REPOSITORY   TAG   DIGEST   CREATED   SIZE   SERVER")
        for place in images.glob("load/*/*"):
            name, tag = str(place.relative_to(images)).rsplit(":", 1)
            print(f"{name}   {tag}   2fe79f06fa6d   2018-01-31T15:08:56   47.04MB   load")
    elif words[0] == "load":
        load_image(*words[1:])
    else:
        assert words[0] == "run", words
        told = strict(words[1:], (["--mount"], MANY), (["--workdir"], ONE))
        box(str(images / told.image), told.command, [parse_mount(mount) for mount in told.mount], told.workdir, "--writable")


def podman_hpc(words):
    assert words[0] == "run", words
    flags = ("--rm", "--interactive", "--env-host", "--read-only", "--gpu", "--rootfs")
    values = ("--network", "--pid", "--ipc", "--uts", "--security-opt", "--log-driver", "--group-add",
              "--preserve-fds", "--read-only-tmpfs", "--tmpfs", "--workdir")
    told = strict(words[1:], *[([name], FLAG) for name in flags], *[([name], ONE) for name in values],
                  (["--volume"], MANY), (["--ulimit"], MANY))
    root, _, option = told.image.partition(":")
    assert told.rootfs and option == "O" and os.path.isdir(root), told.image
    binds = [volume.replace(":ro,rslave", ":ro").replace(":rslave", "") for volume in told.volume
             if not volume.startswith("/dev:")]
    box(root, told.command, binds, told.workdir, *([] if told.read_only else ["--writable"]))


def main():
    name = Path(sys.argv[0]).name
    with open(os.environ["FAKE_ENGINE_LOG"], "a") as log:
        log.write(json.dumps([name, *sys.argv[1:]]) + "\n")
    {"apptainer": apptainer, "sarus": sarus, "podman-hpc": podman_hpc}[name](sys.argv[1:])


def install(directory, longship):
    """Puts the fakes into a directory and returns the variables that they need; the caller adds it to PATH."""
    directory = Path(directory)
    (directory / "images").mkdir(parents=True)
    for name in ("apptainer", "sarus", "podman-hpc"):
        (directory / name).symlink_to(Path(__file__).resolve())
    return {"FAKE_ENGINE_LOG": str(directory / "log"), "FAKE_ENGINE_IMAGES": str(directory / "images"),
            "FAKE_ENGINE_LONGSHIP": str(longship)}


def calls(directory):
    log = Path(directory) / "log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


if __name__ == "__main__":
    main()
