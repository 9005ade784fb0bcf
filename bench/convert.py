# SPDX-License-Identifier: Apache-2.0
"""What it costs to make an OCI image runnable: layers to one SquashFS file and to a directory, beside the tools that others
use, and beside the floor: the CPU seconds of inflate, both digests and zstd divided by the cores (convert_floor.cpp).

The image is Debian with PyTorch, compilers, Open MPI and more (over 2 GB as a tar, over 50,000 files) in three gzip layers,
made once by `longship image bootstrap`. All results are written to memory (/dev/shm), so that no disk is measured.
"by hand" is igzip, tar and gensquashfs in a pipe, without digests and without whiteouts. The slow peers run fewer times.
All takes half an hour; --only squashfs and --only directory are a part each.
"""
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from lib import MEMORY, Bench, scratch_directory

REPOSITORY = Path(__file__).resolve().parent.parent
KEPT = REPOSITORY / "build" / "bench"
SLOW_RUNS = 2  # of peers that take minutes
PACKAGES = ("python3-torch,python3-sklearn,python3-pandas,python3-matplotlib,python3-pip,gcc,g++,gfortran,cmake,"
            "libopenmpi-dev,openmpi-bin,libboost-dev,libhdf5-dev,git,vim")
LAYERS = 3
AT_LEAST_BYTES, AT_LEAST_FILES = 2_000_000_000, 50_000


PARTS = {"squashfs": ("floor", "squashfs", "import", "by hand", "skopeo, umoci, mksquashfs"),
         "directory": ("directory", "igzip and tar", "podman")}


def main():
    bench = Bench(__doc__, lambda parser: parser.add_argument("--only", choices=PARTS, help="what is made"))
    longship = os.environ.get("LONGSHIP", str(REPOSITORY / "build" / "bin" / "longship"))
    if not Path(longship).exists():
        sys.exit(f"{longship} is not there: ./dev build makes it")
    floor = build_floor()
    layout = make_layout(longship)
    with scratch_directory(MEMORY) as scratch:
        runs = all_runs(longship, floor, layout, scratch)
        if bench.options.only:
            runs = {name: runs[name] for name in PARTS[bench.options.only]}
        results = bench.interleave_all(available(bench, runs))
    if "squashfs" in results:
        show_squashfs(bench, results)
    if "directory" in results:
        show_directory(bench, results)
    bench.end()


def show_squashfs(bench, results):
    squashfs, stored = results["squashfs"], results["import"]
    lowest = results["floor"]["seconds"]
    bench.figure("OCI to SquashFS: longship / floor", squashfs["seconds"], lowest, "s", at_most=1.2)
    # On a machine that others use too this one says more than the clock.
    bench.figure("OCI to SquashFS: longship's CPU seconds over the cores / floor", squashfs["cpu"] / results["floor"]["cores"],
                 lowest, "s")
    bench.absolute("OCI to SquashFS: memory at most", squashfs["memory"], "MB", at_most=150)
    bench.figure("OCI to SquashFS in the store: longship / floor", stored["seconds"], lowest, "s")
    for peer in ("by hand", "skopeo, umoci, mksquashfs"):
        if peer in results:
            bench.figure(f"OCI to SquashFS: longship / {peer}", squashfs["seconds"], results[peer]["seconds"], "s")


def show_directory(bench, results):
    directory = results["directory"]
    if "podman" in results:
        bench.figure("OCI to directory: longship / podman", directory["seconds"], results["podman"]["seconds"], "s",
                     at_most=0.2)
    if "igzip and tar" in results:
        bench.figure("OCI to directory: longship / igzip and tar", directory["seconds"],
                     results["igzip and tar"]["seconds"], "s")
    bench.absolute("OCI to directory: memory at most", directory["memory"], "MB", at_most=150)


def all_runs(longship, floor, layout, scratch):
    """Name -> (program that it takes, function that measures it once)."""
    layers = [str(path) for path in layers_of(layout)]
    work = scratch / "work"
    ours = [longship, "image"]
    unpack = 'mkdir "$0/root"; for layer; do igzip -d -c "$layer" | tar -xpC "$0/root" || exit; done'
    pack = 'gensquashfs -q -c zstd -X level=1 -D "$0/root" "$0/out"'
    with_umoci = ('skopeo copy -q "oci:$1:latest" "oci:$0/copy:latest" && umoci unpack --image "$0/copy:latest" "$0/bundle" && '
                  'mksquashfs "$0/bundle/rootfs" "$0/out" -comp zstd -Xcompression-level 1 -quiet -no-progress')
    # In a mount namespace of its own, so that what it mounts is gone with it; without limits, which need a cgroup manager.
    podman = ["unshare", "--mount", "podman", "--root", f"{work}/storage", "--runroot", f"{work}/run", "--storage-driver",
              "overlay", "--cgroup-manager", "cgroupfs", "pull", "-q", f"oci:{layout}:latest"]

    def run(words, **environment):
        return lambda: in_empty(work, lambda: measured(words, environment))

    return {
        "floor": (str(floor), lambda: measured_floor([str(floor), *layers])),
        "squashfs": (longship, run([*ours, "export", str(layout), f"{work}/out.sqfs"])),
        "directory": (longship, run([*ours, "export", str(layout), f"{work}/out", "--format", "directory"])),
        "import": (longship, run([*ours, "import", str(layout), "-t", "bench"], LONGSHIP_STORE=f"{work}/store")),
        "by hand": ("igzip", run(["sh", "-c", f"{unpack}; {pack}", str(work), *layers])),
        "igzip and tar": ("igzip", run(["sh", "-c", unpack, str(work), *layers])),
        "podman": ("podman", run(podman)),
        "skopeo, umoci, mksquashfs": ("umoci", seldom(run(["sh", "-c", with_umoci, str(work), str(layout)]), SLOW_RUNS)),
    }


def available(bench, runs):
    found = {}
    for name, (program, run) in runs.items():
        if shutil.which(program) is None:
            bench.say(f"{name} is not measured: {program} is not installed")
        elif name == "podman" and os.geteuid() != 0:
            bench.say("podman is not measured: it is run as root, with a storage of its own")
        else:
            found[name] = run
    return found


def seldom(run, times):
    """Runs the first so many times, then repeats what it said."""
    said = []

    def again():
        if len(said) < times:
            said.append(run())
        return said[-1]
    return again


def in_empty(directory, run):
    """To make the place and to clear it is nobody's time."""
    directory.mkdir()
    try:
        return run()
    finally:
        subprocess.run(["rm", "-rf", str(directory)], check=True)


def measured(words, environment):
    """Wall clock, and the most memory that any of its processes held."""
    program = shutil.which(words[0])
    log = os.open(KEPT / "convert.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    begin = time.perf_counter()
    child = os.posix_spawn(program, [program, *words[1:]], os.environ | environment,
                           file_actions=[(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)])
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - begin
    os.close(log)
    if status != 0:
        sys.exit(f"{' '.join(words)} failed: {(KEPT / 'convert.log').read_text()[-2000:]}")
    return {"seconds": seconds, "memory": usage.ru_maxrss * 1024 / 1e6, "cpu": usage.ru_utime + usage.ru_stime}


def measured_floor(words):
    costs = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return {"seconds": (costs["inflate"] + costs["digests"] + costs["compress"]) / costs["cores"]} | costs


def build_floor():
    subprocess.run([REPOSITORY / "dev", "build", "dev", "bench_convert_floor"], check=True, stdout=sys.stderr)
    return KEPT / "convert_floor"


# --- the image -------------------------------------------------------------------------------------------------------


def layers_of(layout):
    def blob(digest):
        return layout / "blobs" / "sha256" / digest.split(":")[1]
    manifest = json.loads(blob(json.loads((layout / "index.json").read_text())["manifests"][0]["digest"]).read_text())
    return [blob(layer["digest"]) for layer in manifest["layers"]]


def make_layout(longship):
    """Made once: that takes some minutes."""
    layout = KEPT / "convert-layout"
    if layout.exists():
        return layout
    KEPT.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"LONGSHIP_STORE": str(KEPT / "convert-store")}
    with scratch_directory(KEPT) as aside:  # beside the layout, which is renamed
        tar, made = aside / "root.tar", aside / "layout"
        subprocess.run([longship, "image", "bootstrap", "debian:bookworm", "-t", "convert", "--packages", PACKAGES],
                       env=environment, check=True, stdout=sys.stderr)
        subprocess.run([longship, "image", "export", "convert", str(tar)], env=environment, check=True, stdout=sys.stderr)
        write_layout(made, tar)
        made.rename(layout)
    shutil.rmtree(KEPT / "convert-store")
    return layout


def write_layout(directory, archive):
    blobs = directory / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(document):
        content = json.dumps(document).encode()
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"digest": f"sha256:{digest}", "size": len(content)}

    layers = split(archive, blobs)
    config = put({"architecture": "amd64", "os": "linux", "config": {},
                  "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]}})
    manifest = put({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "config": config | {"mediaType": "application/vnd.oci.image.config.v1+json"},
                    "layers": [layer.descriptor for layer in layers]})
    index = {"schemaVersion": 2, "manifests": [manifest | {
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "annotations": {"org.opencontainers.image.ref.name": "latest"}}]}
    (directory / "index.json").write_text(json.dumps(index))
    (directory / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


class Layer:
    """A gzip layer being written, as other tools compress them; it gets its name when it is complete."""

    def __init__(self, path):
        self.path = path
        self.plain = hashlib.sha256()
        self.packed = gzip.GzipFile(path, "wb", compresslevel=6, mtime=0)
        self.tar = tarfile.open(fileobj=self, mode="w", format=tarfile.PAX_FORMAT)

    def write(self, content):
        self.plain.update(content)
        return self.packed.write(content)

    def tell(self):
        return self.packed.tell()

    def close(self):
        self.tar.close()
        self.packed.close()
        digest = hashlib.file_digest(open(self.path, "rb"), "sha256").hexdigest()
        self.diff_id = f"sha256:{self.plain.hexdigest()}"
        self.descriptor = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": f"sha256:{digest}",
                           "size": self.path.stat().st_size}
        self.path.rename(self.path.with_name(digest))


def split(archive, blobs):
    """Layers of about the same size; a hard link goes where its file is."""
    layers = [Layer(blobs / f"layer{number}") for number in range(LAYERS)]
    total, done, files, place = archive.stat().st_size, 0, 0, {}
    with tarfile.open(archive) as whole:
        for member in whole:
            number = place.get(member.linkname) if member.islnk() else min(LAYERS - 1, done * LAYERS // total)
            place[member.name] = number
            layers[number].tar.addfile(member, whole.extractfile(member) if member.isreg() else None)
            done += member.size + 512
            files += not member.isdir()
    if total < AT_LEAST_BYTES or files < AT_LEAST_FILES:
        sys.exit(f"the image is too small for this measurement: {total} bytes, {files} files")
    print(f"the image: {total / 1e6:.0f} MB, {files} files that are not directories", file=sys.stderr)
    for layer in layers:
        layer.close()
    return layers


if __name__ == "__main__":
    main()
