# SPDX-License-Identifier: Apache-2.0
"""How near the samplers come to the best value, beside Optuna 5: the same problems, budgets and seeds.

Regret is the best value found less the best there is. Each seed makes a pair, ours and Optuna's; the figure is the ratio
of the median regrets, and the goal a bound on the upper end of its 95 % bootstrap interval over the pairs. `auto` is
compared with the best of our samplers on each problem, also on two that were not looked at while it was designed.
Regrets below 1e-6 count as 1e-6: nobody tunes further.
"""
import json
import os
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from lib import Bench
from lib_study import BOX_SIDE, PROBLEMS, optuna_python

LEAST = 1e-6
WORKER = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
from lib_study import PROBLEMS
side, sampler, problem, seeds, trials = sys.argv[2], sys.argv[3], sys.argv[4], json.loads(sys.argv[5]), int(sys.argv[6])
if side == "optuna":
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
else:
    import longship.study as optuna
names = {"tpe": "TPESampler", "cmaes": "CmaEsSampler", "gp": "GPSampler", "auto": "AutoSampler", "random": "RandomSampler",
         "sobol": "QMCSampler"}
objective, least, _ = PROBLEMS[problem]
for seed in seeds:
    study = optuna.create_study(sampler=getattr(optuna.samplers, names[sampler])(seed=seed))
    study.optimize(objective, n_trials=trials)
    print(json.dumps(study.best_value - least), flush=True)
"""


def main():
    bench = Bench(__doc__, lambda parser: (
        parser.add_argument("--seeds", type=int, default=30, help="pairs of studies"),
        parser.add_argument("--problems", default="", help="only those whose names contain one of these, a,b"),
        parser.add_argument("--samplers", default="tpe,cmaes,gp,auto", help="which of ours"),
        parser.add_argument("--trials", type=float, default=1, help="times the usual number of evaluations"),
        parser.add_argument("--peer", default="tpe,cmaes", help="which of Optuna's; its GP takes hours and needs torch")))
    options = bench.options
    peer = optuna_python(bench)
    wanted = options.problems.lower().split(",")
    ours, theirs = options.samplers.split(","), [] if peer is None else [name for name in options.peer.split(",") if name]
    chosen = [problem for problem in PROBLEMS if any(word in problem.lower() for word in wanted)]
    for number, problem in enumerate(chosen, 1):
        bench.round(number, len(chosen), "problem")
        _, _, trials = PROBLEMS[problem]
        compare(bench, problem, int(trials * options.trials), ours, theirs, peer)
    bench.end()


def compare(bench, problem, trials, ours, theirs, peer):
    seeds = bench.options.seeds
    jobs = [("ours", name) for name in ours] + [("optuna", name) for name in theirs]
    with ThreadPoolExecutor(2) as pool:  # statistics, not speed: both cores may work
        results = dict(zip(jobs, pool.map(lambda job: regrets(peer, *job, problem, seeds, trials), jobs)))
    for name in ours:
        mine = results["ours", name]
        if ("optuna", name) in results:
            other = results["optuna", name]
            low, high = interval(mine, other)
            bench.ratio(f"{problem} after {trials}: {name}", median(mine), median(other), "regret", median(mine) / median(other),
                        "upper bound <= 1.2", high <= 1.2, low=low, high=high)
            bench.say(f"{problem}: {name} {median(mine):.3g} : {median(other):.3g}, 95 % of the ratio {low:.2g} to {high:.2g}")
        elif name == "auto":
            best = min((median(results["ours", each]), each) for each in ours if each != "auto") if len(ours) > 1 else (1, "none")
            bench.ratio(f"{problem} after {trials}: auto / {best[1]}", median(mine), best[0], "regret", median(mine) / best[0],
                        "<= 2 x", median(mine) <= 2 * best[0])
        elif name == "gp" and problem == "Hartmann6":
            bench.absolute(f"{problem} after {trials}: gp", median(mine), "regret", 1e-3)
        else:
            bench.ratio(f"{problem} after {trials}: {name}", median(mine), None, "regret", None, None, None)


def regrets(peer, side, sampler, problem, seeds, trials):
    """One for each seed."""
    python = peer if side == "optuna" else "/usr/bin/python3"
    environment = os.environ | {"PYTHONPATH": str(BOX_SIDE / "python"), "OMP_NUM_THREADS": "1"}
    words = [python, "-c", WORKER, os.path.dirname(os.path.abspath(__file__)), side, sampler, problem,
             json.dumps(list(range(seeds))), str(trials)]
    done = subprocess.run(words, env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{side} {sampler} on {problem}: {done.stderr.strip().splitlines()[-1]}")
    return [max(LEAST, json.loads(line)) for line in done.stdout.splitlines()]


def median(values):
    return statistics.median(values)


def interval(ours, peers, draws=2000):
    """95 % of the ratios of medians when the pairs are drawn again, with replacement."""
    generator = random.Random(0)
    ratios = []
    for _ in range(draws):
        chosen = generator.choices(range(len(ours)), k=len(ours))
        ratios.append(median([ours[i] for i in chosen]) / median([peers[i] for i in chosen]))
    ratios.sort()
    return ratios[int(0.025 * draws)], ratios[int(0.975 * draws)]


if __name__ == "__main__":
    main()
