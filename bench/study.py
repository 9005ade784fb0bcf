# SPDX-License-Identifier: Apache-2.0
"""How long a sampler keeps its objective waiting: ask and tell after n trials of 10 real numbers, from Python.

Ours and Optuna 5 in turn, each in a process of its own that has been given n trials; TPE in memory and in a journal
that syncs what was told, and the Gaussian process. Optuna's GP is not measured: it needs torch and takes seconds.
"""
import json
import os
import subprocess
import sys

from lib import Bench, scratch_directory
from lib_study import BOX_SIDE, optuna_python

WORKER = """
import json, random, statistics, sys, time, warnings
warnings.simplefilter("ignore")
side, sampler, trials, storage = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] or None
if side == "optuna":
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
else:
    import longship.study as optuna
study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=1), storage=storage)
generator = random.Random(1)
names = [f"x{i}" for i in range(10)]
space = {name: optuna.distributions.FloatDistribution(0, 1) for name in names}

def loss(point):
    return sum((value - 0.3) ** 2 for value in point)

for _ in range(trials):
    point = [generator.random() for _ in names]
    study.add_trial(optuna.trial.create_trial(value=loss(point), params=dict(zip(names, point)), distributions=space))

def once():
    begin = time.perf_counter()
    trial = study.ask()
    study.tell(trial, loss([trial.suggest_float(name, 0, 1) for name in names]))
    return time.perf_counter() - begin

print("ready", flush=True)
for line in sys.stdin:
    print(statistics.median(once() for _ in range(int(line))), flush=True)
"""


class Asker:
    """A study of so many trials in a process of its own; called, it tells the seconds of an ask and a tell."""

    def __init__(self, python, side, sampler, trials, storage=""):
        environment = os.environ | {"PYTHONPATH": str(BOX_SIDE / "python"), "OMP_NUM_THREADS": "1"}
        self.repeats = 20 if side == "ours" else 3
        self.process = subprocess.Popen([python, "-c", WORKER, side, sampler, str(trials), str(storage)], env=environment,
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            sys.exit(f"{side}: {sampler} did not begin")

    def __call__(self):
        self.process.stdin.write(f"{self.repeats}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    bench = Bench(__doc__)
    peer = optuna_python(bench)
    with scratch_directory() as scratch:
        askers = {f"ours {n}": Asker("/usr/bin/python3", "ours", "TPESampler", n) for n in (100, 1000, 5000)}
        askers["journal"] = Asker("/usr/bin/python3", "ours", "TPESampler", 1000, scratch)
        askers["gp"] = Asker("/usr/bin/python3", "ours", "GPSampler", 200)
        if peer:
            askers |= {f"optuna {n}": Asker(peer, "optuna", "TPESampler", n) for n in (100, 1000, 5000)}
        try:
            seconds = bench.interleave(askers)
        finally:
            for asker in askers.values():
                asker.close()
    report(bench, seconds)
    bench.end()


def report(bench, seconds):
    bench.absolute("TPE after 1,000 trials", seconds["ours 1000"] * 1e3, "ms", 0.3)
    bench.absolute("TPE after 5,000 trials", seconds["ours 5000"] * 1e3, "ms", 1.5)
    bench.absolute("TPE after 1,000 trials, journal with sync", seconds["journal"] * 1e3, "ms", 2)
    bench.absolute("GP after 200 trials", seconds["gp"] * 1e3, "ms", 20)
    for n in (100, 1000, 5000):
        if f"optuna {n}" in seconds:
            bench.figure(f"TPE after {n} trials: ours / Optuna 5", seconds[f"ours {n}"] * 1e3, seconds[f"optuna {n}"] * 1e3, "ms",
                         at_most=1)


if __name__ == "__main__":
    main()
