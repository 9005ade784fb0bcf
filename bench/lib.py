# SPDX-License-Identifier: Apache-2.0
"""What all benches share: ours and its peers measured in turn, medians, a table with the goal.

A claim is a ratio from one interleaved run: the machine's moods then hit both sides alike. A bench looks like this:

    bench = Bench(__doc__)
    times = bench.interleave({"ours": run_ours, "peer": run_peer})      # name -> function that returns seconds
    bench.figure("start from a directory", times["ours"] * 1e3, times["peer"] * 1e3, "ms", at_most=0.55)
    bench.end()

--json prints one line per figure with name, ours, peer, unit, ratio, goal, met.

Each figure is told on stderr as soon as it is known, and which round is under way, so that a bench that is cut off has not
been for nothing. What it writes goes into a scratch_directory(), which a signal removes too.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import signal
import statistics
import sys
import tempfile
import time

MEMORY = "/dev/shm"
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
SECONDS_BETWEEN_LINES = 10  # of a log that say which round it is


def timed(function):
    """A function that tells how long the given one took, in seconds."""
    def run():
        begin = time.perf_counter()
        function()
        return time.perf_counter() - begin
    return run


STUDENT = {4: 2.776, 9: 2.262, 14: 2.145, 19: 2.093, 24: 2.064, 29: 2.045, 39: 2.023, 59: 2.001}  # two-sided 95 %, by degrees of freedom


def interval(ratios):
    """Mean and 95 % interval of ratios, which are distributed as logarithms."""
    logs = [math.log(ratio) for ratio in ratios]
    known = max((freedom for freedom in STUDENT if freedom <= len(logs) - 1), default=4)
    reach = STUDENT[known] * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.fmean(logs)
    return tuple(math.exp(value) for value in (mean, mean - reach, mean + reach))


@contextlib.contextmanager
def scratch_directory(inside=None):
    """A directory of the bench's own that is gone when it ends, also by a signal. What was started and still runs is ended
    before: it would go on writing there."""
    place = tempfile.TemporaryDirectory(prefix="longship-bench", dir=inside)
    try:
        yield pathlib.Path(place.name)
    except BaseException:
        with undisturbed():
            end_all_that_was_started()
            place.cleanup()
        raise
    with undisturbed():
        place.cleanup()


@contextlib.contextmanager
def undisturbed():
    """Signals wait meanwhile."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_by_signal(number, _):
    """So that what was opened is closed again, undisturbed by who is impatient."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def end_all_that_was_started():
    """Stopped first, so that none starts another meanwhile."""
    found = set()
    while new := descendants() - found:
        found |= new
        for pid in new:
            kill(pid, signal.SIGSTOP)
    for pid in found:
        kill(pid, signal.SIGKILL)
    for pid in found:
        with contextlib.suppress(ChildProcessError):  # others' children
            os.waitpid(pid, 0)


def descendants():
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, generation = set(), {os.getpid()}
    while generation := {pid for pid, parent in parents.items() if parent in generation}:
        found |= generation
    return found


def kill(pid, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


class Bench:
    def __init__(self, description, options=lambda parser: None):
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--json", action="store_true", help="one JSON object per figure, on lines of their own")
        parser.add_argument("--rounds", type=int, default=7, help="measurements of each, of which the median counts")
        options(parser)
        self.options = parser.parse_args()
        if self.options.rounds < 5:
            parser.error("--rounds: a median of fewer than 5 says little")
        self.figures = []
        self.redraws = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.said_at = time.monotonic()
        self.line_is_open = False
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
                signal.signal(number, end_by_signal)

    def interleave(self, runs, rounds=None):
        """Each once per round, in turn; the median of what they return. One round more goes first, to warm up."""
        medians = self.interleave_all({name: lambda run=run: {None: run()} for name, run in runs.items()}, rounds)
        return {name: values[None] for name, values in medians.items()}

    def interleave_all(self, runs, rounds=None):
        """The same for runs that return a dictionary: the median of each of its values."""
        return {name: {key: statistics.median(each[key] for each in measured) for key in measured[0]}
                for name, measured in self.interleave_rounds(runs, rounds).items()}

    def interleave_rounds(self, runs, rounds=None):
        """What each returned in each round."""
        results = {name: [] for name in runs}
        rounds = rounds or self.options.rounds
        for round_number in range(rounds + 1):
            self.round(round_number, rounds)
            for name, run in runs.items():
                result = run()
                if round_number > 0:
                    results[name].append(result)
        return results

    def figure(self, name, ours, peer, unit, at_most=None, at_least=None):
        """One line of the table. The goal is a bound on ours / peer; without one the line only informs."""
        ratio = ours / peer if peer else None
        goal = None
        met = None
        if at_most is not None:
            goal, met = f"<= {at_most:g} x", ratio is not None and ratio <= at_most
        elif at_least is not None:
            goal, met = f">= {at_least:g} x", ratio is not None and ratio >= at_least
        self._add(name, ours, peer, unit, ratio, goal, met)

    def ratio(self, name, ours, peer, unit, ratio, goal, met, **more):
        """A line whose ratio and verdict the bench has worked out itself, with what else belongs to it in JSON."""
        self._add(name, ours, peer, unit, ratio, goal, met)
        self.figures[-1].update(more)

    def absolute(self, name, ours, unit, at_most):
        """A figure that has no peer, only a bound."""
        self._add(name, ours, None, unit, None, f"<= {at_most:g} {unit}", ours <= at_most)

    def at_least(self, name, ours, unit, bound):
        """The same for a figure of which more is better."""
        self._add(name, ours, None, unit, None, f">= {bound:g} {unit}", ours >= bound)

    def say(self, text):
        """What a reader of the table should know: which peers are missing, and why."""
        if self.line_is_open:
            print("\r\x1b[K", end="", file=sys.stderr)
            self.line_is_open = False
        print(text, file=sys.stderr, flush=True)
        self.said_at = time.monotonic()

    def round(self, number, of, what="round"):
        """Where a measurement is that takes long; 0 is the round that warms up. A terminal has one line for it, a log not more
        than a line per round, and none for what is quick."""
        text = f"{what} {number} of {of}" if number else "warming up"
        if self.redraws:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self.line_is_open = True
        elif time.monotonic() - self.said_at >= SECONDS_BETWEEN_LINES:
            self.say(text)

    def end(self):
        if not self.figures:
            sys.exit("nothing was measured")
        if self.line_is_open:
            self.say("")
        if self.options.json:
            for figure in self.figures:
                print(json.dumps(figure))
        else:
            print(table(self.figures))

    def _add(self, name, ours, peer, unit, ratio, goal, met):
        self.figures.append({"name": name, "ours": _rounded(ours), "peer": _rounded(peer), "unit": unit,
                             "ratio": _rounded(ratio), "goal": goal, "met": met})
        self.say(_sentence(self.figures[-1]))


def _sentence(figure):
    """A figure before there is a table: "start: 1.2 : 2.4 ms = 0.5 x, goal <= 0.55 x: yes"."""
    peer, ratio = (f" : {figure['peer']}" if figure["peer"] is not None else "",
                   f" = {figure['ratio']} x" if figure["ratio"] is not None else "")
    goal = f", goal {figure['goal']}" if figure["goal"] else ""
    met = "" if figure["met"] is None else ": yes" if figure["met"] else ": NO"
    return f"{figure['name']}: {figure['ours']}{peer} {figure['unit']}{ratio}{goal}{met}"


def table(figures):
    titles = ["name", "ours", "peer", "unit", "ratio", "goal", "met"]
    words = {None: "-", True: "yes", False: "NO"}

    def cell(value):
        return words[value] if value is None or isinstance(value, bool) else f"{value}"

    rows = [titles] + [[cell(figure[title]) for title in titles] for figure in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(titles))]
    numbers = (1, 2, 4)
    return "\n".join("  ".join(text.rjust(widths[i]) if i in numbers else text.ljust(widths[i])
                               for i, text in enumerate(row)).rstrip() for row in rows)


def _rounded(value):
    """Three or four digits are all that a median of a few runs is worth."""
    return None if value is None else float(f"{value:.4g}")
