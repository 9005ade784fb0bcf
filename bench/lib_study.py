# SPDX-License-Identifier: Apache-2.0
"""What the benches of studies share: Optuna beside ours, and problems whose best value is known."""
import csv
import math
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PEER = REPOSITORY / ".tools" / "optuna"
PEER_PYTHON = PEER / "bin" / "python"
BOX_SIDE = REPOSITORY / "build" / "lib" / "longship"


def optuna_python(bench):
    """The Python that has Optuna 5, made at the first use; None if it cannot be had."""
    if not PEER_PYTHON.exists():
        made = subprocess.run([sys.executable, "-m", "venv", PEER]).returncode == 0 and subprocess.run(
            [PEER / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "optuna==5.0.0", "cmaes==0.13.1",
             "scipy==1.17.1"]).returncode == 0
        if not made:
            shutil.rmtree(PEER, ignore_errors=True)
            bench.say("Optuna is not measured: it cannot be installed")
            return None
    return PEER_PYTHON


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    return ((y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
            + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


_ALPHA = (1.0, 1.2, 3.0, 3.2)
_A = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
_P = ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991), (2348, 1451, 3522, 2883, 3047, 6650),
      (4047, 8828, 8732, 5743, 1091, 381))


def hartmann6(trial):
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(6)]
    return -sum(alpha * math.exp(-sum(a * (xi - p / 1e4) ** 2 for a, xi, p in zip(row, x, places)))
                for alpha, row, places in zip(_ALPHA, _A, _P))


def rosenbrock10(trial):
    x = [trial.suggest_float(f"x{i}", -2, 2) for i in range(10)]
    return sum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def ackley5(trial):  # not used to design anything
    x = [trial.suggest_float(f"x{i}", -15, 30) for i in range(5)]
    return (-20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / 5))
            - math.exp(sum(math.cos(2 * math.pi * v) for v in x) / 5) + 20 + math.e)


def levy4(trial):  # not used to design anything
    w = [1 + (trial.suggest_float(f"x{i}", -10, 10) - 1) / 4 for i in range(4)]
    return (math.sin(math.pi * w[0]) ** 2
            + sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
            + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2))


def _table():
    with open(REPOSITORY / "tests" / "lab" / "hpo" / "mlp_digits.csv", newline="") as file:
        rows = list(csv.reader(file))
    return {tuple(map(int, row[:5])): float(row[-1]) for row in rows}


_mlp = {}


def mlp_table(trial):
    if not _mlp:
        _mlp.update(_table())
    point = tuple(trial.suggest_int(name, 0, last) for name, last in (("lr", 7), ("width", 5), ("alpha", 4), ("batch", 3)))
    return _mlp[point + (("relu", "tanh").index(trial.suggest_categorical("activation", ["relu", "tanh"])),)]


# name -> (objective, the least value, evaluations)
PROBLEMS = {
    "Branin": (branin, 0.39788735772973816, 50),
    "Hartmann6": (hartmann6, -3.322368011415515, 100),
    "Rosenbrock10": (rosenbrock10, 0.0, 200),
    "MLP table": (mlp_table, min(_table().values()), 50),
    "Ackley5": (ackley5, 0.0, 100),
    "Levy4": (levy4, 0.0, 100),
}
