# SPDX-License-Identifier: Apache-2.0
"""Training in a box and without one: throughput, processor time and memory of a ResNet on this machine's processors.

The same script with the same version of PyTorch, once from the image of the tests (a SquashFS file, as an ordinary user) and
once from this machine's own packages, in pairs that take turns in coming first. Of each figure the mean ratio of the
pairs and its 95 % interval are told: no difference outside the noise means that the interval has 1 in it, or that the
ratio is nearer to 1 than native runs are to each other. Free memory is what the machine could give to others at the end of
the training; beside it stands what the process itself has that cannot be dropped.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

BATCH, SIDE, WARM_UP = 8, 32, 3


# --- what is measured: runs inside and outside


def megabytes(file, name):
    for line in Path(file).read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1000
    sys.exit(f"{file} does not tell {name}")


def train(depth, steps):
    """Prints what a run took, as JSON."""
    import time

    import torch
    from model import resnet  # that of examples/resnet, put beside this file
    torch.manual_seed(1)
    torch.set_num_threads(1)  # as a rank that shares the node with others; more would measure how busy the machine is
    model = resnet(depth)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(BATCH, 3, SIDE, SIDE), torch.randint(0, 1000, (BATCH,))
    for step in range(-WARM_UP, steps):
        if step == 0:
            begin, used = time.perf_counter(), time.process_time()
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimiser.step()
    wall, processor = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps({"throughput": steps * BATCH / wall, "processor": processor / steps * 1e3,
                      "free": megabytes("/proc/meminfo", "MemAvailable"),
                      "own": megabytes("/proc/self/smaps_rollup", "Pss_Anon")}))


# --- who measures


def measured(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def take_turns(bench, boxed, native, pairs):
    """Who comes first changes from pair to pair; a pair before all warms both up."""
    results = {"boxed": [], "native": []}
    for number in range(pairs + 1):
        bench.round(number, pairs)
        turn = [("boxed", boxed), ("native", native)]
        for name, command in turn if number % 2 else reversed(turn):
            result = measured(command)
            if number > 0:
                results[name].append(result)
    return results


def compare(bench, name, unit, key, results):
    from lib import interval
    boxed, native = ([run[key] for run in results[who]] for who in ("boxed", "native"))
    ratio, low, high = interval([ours / theirs for ours, theirs in zip(boxed, native, strict=True)])
    noise = statistics.stdev(native) / statistics.fmean(native)
    bench.ratio(f"{name}: boxed / native", statistics.median(boxed), statistics.median(native), unit, ratio,
                f"1 in [{low:.3f}, {high:.3f}], or noise {noise:.3f}", low <= 1 <= high or abs(ratio - 1) < noise,
                interval=[round(low, 4), round(high, 4)], noise=round(noise, 4))


def main():
    from lib import Bench, scratch_directory
    from lib_box import (REPOSITORY, as_user, give_program_to_user, keeper_of, link_for_user, make_torch_image, open_to_user,
                         program, running)
    sys.path.insert(0, str(REPOSITORY / "tests" / "lab"))
    from fuse import fuse_for_everybody

    def options(parser):
        parser.add_argument("--pairs", type=int, default=15, help="of runs, boxed and native")
        parser.add_argument("--depth", type=int, choices=(18, 50), default=18, help="layers of the ResNet")
        parser.add_argument("--steps", type=int, default=10, help="of training that are timed in a run")
    bench = Bench(__doc__, options)
    if bench.options.pairs < 15:
        sys.exit("--pairs: an interval of fewer than 15 says little")
    longship = program()
    image = make_torch_image(longship)

    def work(longship, image, script):
        os.chdir("/")
        os.environ.update(HOME="/nonexistent", USER="bench", LONGSHIP_STORE=f"{script.parent}/store")
        words = ["/usr/bin/python3", str(script), "--train", str(bench.options.depth), str(bench.options.steps)]
        with running([longship, "box", str(image), "--", "/bin/sleep", "100000"], image):
            bench.say(f"process {keeper_of(image)} keeps the image mounted; its memory counts for the first box only")
            results = take_turns(bench, [longship, "box", str(image), "--", *words], words, bench.options.pairs)
        what = f"ResNet-{bench.options.depth}"
        compare(bench, f"{what}: throughput", "samples/s", "throughput", results)
        compare(bench, f"{what}: processor time per step", "ms", "processor", results)
        compare(bench, f"{what}: free memory of the machine", "MB", "free", results)
        compare(bench, f"{what}: memory of the process", "MB", "own", results)
        bench.end()

    with scratch_directory() as scratch, fuse_for_everybody():
        open_to_user(scratch)
        script = scratch / "train.py"
        shutil.copyfile(__file__, script)
        shutil.copyfile(REPOSITORY / "examples" / "resnet" / "model.py", scratch / "model.py")
        small, mine = str(give_program_to_user(longship, scratch)), link_for_user(image, scratch)
        as_user(lambda: work(small, mine, script))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
