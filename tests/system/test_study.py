# SPDX-License-Identifier: Apache-2.0
"""longship.study as a script meets it: Optuna's names, in memory and in a directory that processes share."""
import math
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import REPOSITORY

BOX_SIDE = REPOSITORY / "build" / "lib" / "longship"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LONGSHIP")} | {
    "PYTHONPATH": str(REPOSITORY / "python"), "LONGSHIP_LIBRARY": str(BOX_SIDE / "liblongship.so")}
sys.path.insert(0, str(REPOSITORY / "python"))
os.environ.setdefault("LONGSHIP_LIBRARY", str(BOX_SIDE / "liblongship.so"))

import longship.study as optuna  # noqa: E402
from longship.study import TrialState  # noqa: E402

SAMPLERS = ["RandomSampler", "QMCSampler", "TPESampler", "GPSampler", "CmaEsSampler", "NSGAIISampler", "AutoSampler"]


def quadratic(trial):
    x = trial.suggest_float("x", -10, 10)
    n = trial.suggest_int("n", 1, 8)
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", None, 3, True])
    return (x - 2) ** 2 + abs(n - 3) + abs(math.log10(lr) + 3) + (kind != "b")


def python(script, *words, **options):
    return subprocess.run([sys.executable, "-c", script, *map(str, words)], env=ENVIRONMENT, text=True, capture_output=True,
                          timeout=120, **options)


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_optimises_and_repeats_itself(name):
    best = []
    for _ in range(2):
        study = optuna.create_study(sampler=getattr(optuna.samplers, name)(seed=7))
        study.optimize(quadratic, n_trials=40)
        best.append(study.best_params)
        assert len(study.trials) == 40
        assert study.best_value == min(trial.value for trial in study.trials)
        assert quadratic(optuna.FixedTrial(study.best_params)) == study.best_value
        assert type(study.best_params["n"]) is int
    assert best[0] == best[1]


def test_a_script_for_optuna_runs_with_another_import():
    script = """
import longship.study as optuna
optuna.logging.set_verbosity(optuna.logging.WARNING)

def objective(trial):
    layers = trial.suggest_int("layers", 1, 3)
    widths = [trial.suggest_int(f"width_{i}", 4, 128, log=True) for i in range(layers)]
    optimiser = trial.suggest_categorical("optimiser", ["adam", "sgd"])
    momentum = trial.suggest_float("momentum", 0, 0.99) if optimiser == "sgd" else 0
    for step in range(5):
        trial.report(sum(widths) + step, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return sum(widths) + momentum

study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=1),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=5))
study.optimize(objective, n_trials=60, callbacks=[lambda study, trial: None])
pruned = [t for t in study.trials if t.state == optuna.trial.TrialState.PRUNED]
assert pruned and study.best_trial.value < 60, (len(pruned), study.best_trial)
"""
    done = python(script)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")


def test_works_without_numpy_and_torch():
    done = python("import sys\nsys.modules['numpy'] = sys.modules['torch'] = None\n"
                  "import longship.study as o\ns = o.create_study()\ns.optimize(lambda t: t.suggest_float('x', 0, 1), n_trials=15)")
    assert done.returncode == 0, done.stderr


def test_nothing_is_pruned_unless_asked_for():
    study = optuna.create_study()

    def objective(trial):
        trial.report(1e9 * trial.number, 1)
        assert not trial.should_prune()
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=20)


def test_values_that_are_none_fail_the_trial():
    study = optuna.create_study()
    study.optimize(lambda trial: float("nan") if trial.number == 0 else "word" if trial.number == 1 else None, n_trials=3)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 3
    reasons = [trial.system_attrs["longship.reason"] for trial in study.trials]
    assert reasons == ["NaN is no value", "'word' is no number", "the objective returned None, not a number"]
    with pytest.raises(ValueError, match="no trial is complete"):
        study.best_trial
    with pytest.raises(ValueError, match="NaN is no value"):
        study.tell(study.ask(), float("nan"), state=TrialState.COMPLETE)


def test_infinite_values_are_values():
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=1))
    study.optimize(lambda trial: math.inf if trial.number % 3 else trial.suggest_float("x", 0, 1), n_trials=20)
    assert study.best_value < 1 and any(trial.value == math.inf for trial in study.trials)


def test_duplicate_tells_are_errors():
    study = optuna.create_study()
    trial = study.ask()
    study.tell(trial, 1.0)
    with pytest.raises(ValueError, match="has been told already: it is complete"):
        study.tell(trial, 2.0)
    assert study.tell(trial, 2.0, skip_if_finished=True).value == 1.0
    with pytest.raises(ValueError, match="there is no trial 99"):
        study.tell(99, 1.0)


def test_a_parameter_that_changes_its_kind_is_an_error():
    study = optuna.create_study()
    study.ask().suggest_float("x", 0, 1)
    with pytest.raises(ValueError, match='parameter "x" was a real number from 0 to 1 in earlier trials'):
        study.ask().suggest_int("x", 0, 1)


@pytest.mark.parametrize("call, complaint", [
    (lambda t: t.suggest_float("x", 1, 0), "begins at 1 and ends at 0"),
    (lambda t: t.suggest_float("x", 0, 1, log=True), "has to begin above 0"),
    (lambda t: t.suggest_float("x", 0, math.inf), "finite"),
    (lambda t: t.suggest_categorical("x", []), "nothing to choose from"),
    (lambda t: t.suggest_categorical("x", [[1]]), "cannot be chosen from"),
    (lambda t: t.suggest_int("x", 0, 3, step=0), "0 is no step"),
])
def test_impossible_spaces_are_errors(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call(optuna.create_study().ask())


def test_an_objective_without_parameters_is_no_trouble():
    study = optuna.create_study(sampler=optuna.samplers.GPSampler())
    study.optimize(lambda trial: trial.number, n_trials=15)
    assert study.best_value == 0 and study.best_params == {}


def test_true_and_one_are_different_choices():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    seen = {repr(study.ask().suggest_categorical("x", [True, 1, 1.0, "1", None])) for _ in range(100)}
    assert seen == {"True", "1", "1.0", "'1'", "None"}


def test_enqueued_and_added_trials_count():
    study = optuna.create_study()
    study.enqueue_trial({"x": 0.25, "kind": "b"}, user_attrs={"why": "known to be good"})
    trial = study.ask()
    assert trial.suggest_float("x", 0, 1) == 0.25 and trial.suggest_categorical("kind", ["a", "b"]) == "b"
    assert trial.user_attrs == {"why": "known to be good"}
    study.tell(trial, 5)
    study.add_trial(optuna.trial.create_trial(
        value=1.0, params={"x": 0.75}, distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
        intermediate_values={1: 3.0}, user_attrs={"from": "elsewhere"}))
    assert study.best_trial.params == {"x": 0.75} and study.best_trial.intermediate_values == {1: 3.0}
    assert study.best_trial.user_attrs == {"from": "elsewhere"}
    with pytest.raises(ValueError, match="7.0 is not|7 is not"):
        study.add_trial(optuna.trial.create_trial(
            value=1.0, params={"x": 7}, distributions={"x": optuna.distributions.FloatDistribution(0, 1)}))


def test_exceptions_fail_their_trial_and_end_the_loop_unless_caught():
    study = optuna.create_study()

    def objective(trial):
        if trial.number == 1:
            raise KeyError("x")
        return 1.0

    with pytest.raises(KeyError):
        study.optimize(objective, n_trials=5)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE, TrialState.FAIL]
    assert study.trials[1].system_attrs["longship.reason"] == "KeyError: 'x'"
    study = optuna.create_study()
    study.optimize(objective, n_trials=5, catch=(KeyError,))
    assert len(study.trials) == 5


def test_threads_share_a_study():
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(quadratic, n_trials=60, n_jobs=4)
    assert sorted(trial.number for trial in study.trials) == list(range(60))
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)


def test_timeout_and_stop_end_the_loop():
    study = optuna.create_study()
    study.optimize(lambda trial: time.sleep(0.01) or 1.0, timeout=0.1)
    assert 1 <= len(study.trials) < 100
    study = optuna.create_study()
    study.optimize(lambda trial: 1.0, n_trials=100, callbacks=[lambda study, trial: study.stop() if trial.number == 3 else None])
    assert len(study.trials) == 4


def test_several_objectives_have_a_front():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.NSGAIISampler(seed=1))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)), n_trials=80)
    front = study.best_trials
    for one in front:
        assert not any(other.values[0] <= one.values[0] and other.values[1] >= one.values[1] and other.values != one.values
                       for other in study.trials)
    with pytest.raises(RuntimeError, match="use best_trials"):
        study.best_trial


def test_constraints_keep_the_best_inside():
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("at least a half", 0.5 - x)
        return x

    study.optimize(objective, n_trials=60)
    assert 0.5 <= study.best_value < 0.7


def test_a_grid_of_lists_is_visited_and_ends():
    study = optuna.create_study(sampler=optuna.samplers.GridSampler({"x": [1, 2, 3], "y": ["a", "b"]}))
    seen = []
    study.optimize(lambda t: seen.append((t.suggest_int("x", 0, 9), t.suggest_categorical("y", ["a", "b"]))) or 1.0)
    assert sorted(seen) == [(x, y) for x in (1, 2, 3) for y in "ab"]


def test_a_study_outlives_its_process(tmp_path):
    first = optuna.create_study(storage=tmp_path, study_name="scan", direction="maximize")
    first.optimize(quadratic, n_trials=15)
    first.set_user_attr("who", "me")
    again = optuna.load_study(storage=tmp_path, study_name="scan")
    assert again.trials == first.trials and again.best_trial == first.best_trial and again.user_attrs == {"who": "me"}
    assert again.direction.name == "MAXIMIZE"
    again.optimize(quadratic, n_trials=5)
    assert len(first.trials) == 20
    with pytest.raises(optuna.exceptions.DuplicatedStudyError, match="load_if_exists"):
        optuna.create_study(storage=tmp_path, study_name="scan")
    assert len(optuna.create_study(storage=tmp_path, study_name="scan", direction="maximize", load_if_exists=True).trials) == 20
    with pytest.raises(KeyError, match="there is no study"):
        optuna.load_study(storage=tmp_path, study_name="other")
    with pytest.raises(Exception, match="other objectives or directions"):
        optuna.create_study(storage=tmp_path, study_name="scan", direction="minimize", load_if_exists=True)
    assert optuna.get_all_study_names(tmp_path) == ["scan"]
    optuna.delete_study(storage=tmp_path, study_name="scan")
    assert optuna.get_all_study_names(tmp_path) == []


def test_a_database_address_is_told_what_to_give():
    with pytest.raises(ValueError, match="give a path as storage"):
        optuna.create_study(storage="sqlite:///x.db")


WORKER = """
import sys, longship.study as optuna
study = optuna.create_study(storage=sys.argv[1], study_name="many", load_if_exists=True)
for _ in range(int(sys.argv[2])):
    trial = study.ask()
    value = trial.suggest_float("x", 0, 1)
    study.tell(trial, value)
    print(trial.number, flush=True)
"""


def test_processes_killed_at_any_moment_lose_nothing_that_was_told(tmp_path):
    optuna.create_study(storage=tmp_path, study_name="many")
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), "100000"], env=ENVIRONMENT, text=True,
                                stdout=subprocess.PIPE) for _ in range(3)]
    told = []
    for number, worker in enumerate(workers):  # each at another moment: after so many trials
        told += [int(worker.stdout.readline()) for _ in range(10 + 7 * number)]
        worker.send_signal(signal.SIGKILL)
    for worker in workers:
        told += [int(line) for line in worker.stdout.read().splitlines() if line]
        worker.wait()
    trials = optuna.load_study(storage=tmp_path, study_name="many").trials
    assert len(set(told)) == len(told), "a number was given twice"
    complete = {trial.number for trial in trials if trial.state == TrialState.COMPLETE}
    assert set(told) <= complete and len(complete) <= len(told) + 3
    assert len({trial.number for trial in trials}) == len(trials)


def test_a_torn_journal_loses_its_torn_end_only(tmp_path):
    study = optuna.create_study(storage=tmp_path, study_name="torn")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=10)
    log = tmp_path / "torn" / "writer-0" / "log"
    log.write_bytes(log.read_bytes()[:-5])
    again = optuna.load_study(storage=tmp_path, study_name="torn")
    assert [trial.state for trial in again.trials] == [TrialState.COMPLETE] * 9 + [TrialState.RUNNING]
    again.tell(9, 0.5)
    again.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert len(optuna.load_study(storage=tmp_path, study_name="torn").trials) == 13


def test_warm_start_from_an_earlier_study():
    earlier = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    earlier.optimize(quadratic, n_trials=50)
    later = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    later.add_trials(earlier.trials)
    later.optimize(quadratic, n_trials=30)
    assert len(later.trials) == 80 and later.best_value <= earlier.best_value


def test_importance_names_what_matters():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: 10 * trial.suggest_float("much", 0, 1) + trial.suggest_float("little", 0, 1), n_trials=80)
    shares = optuna.importance.get_param_importances(study)
    assert list(shares) == ["much", "little"] and shares["much"] > 0.9 and abs(sum(shares.values()) - 1) < 1e-9
    assert optuna.importance.get_param_importances(study, params=["little"]) == {"little": 1}
    with pytest.raises(ValueError, match="nothing is known of the importance of"):
        optuna.importance.get_param_importances(study, params=["other"])
    assert optuna.importance.get_param_importances(optuna.create_study()) == {}


def test_a_pruner_of_ones_own_is_asked():
    class Impatient(optuna.pruners.BasePruner):
        def prune(self, study, trial):
            return trial.intermediate_values[trial.last_step] > 3

    study = optuna.create_study(pruner=Impatient())
    trial = study.ask()
    trial.report(1, 1)
    assert not trial.should_prune()
    trial.report(4, 2)
    assert trial.should_prune()


def test_a_patient_pruner_waits_for_the_one_it_wraps():
    study = optuna.create_study(pruner=optuna.pruners.PatientPruner(optuna.pruners.ThresholdPruner(upper=5), patience=1))
    trial = study.ask()
    asked = []
    for step, value in enumerate([6, 7, 4, 4.5, 4.6, 8]):
        trial.report(value, step)
        asked.append(trial.should_prune())
    #        6 is too much, but nothing is known yet; 7 and 4 are within the patience; 4.5 and 4.6 are not too much
    assert asked == [False, False, False, False, False, True]


def test_fixed_parameters_leave_the_others_to_the_sampler():
    base = optuna.samplers.TPESampler(seed=1)
    study = optuna.create_study(sampler=optuna.samplers.PartialFixedSampler({"x": 0.5}, base))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=5)
    assert {trial.params["x"] for trial in study.trials} == {0.5} and len({trial.params["y"] for trial in study.trials}) == 5


def test_a_callback_ends_a_study_that_several_share(tmp_path):
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal")))
    for _ in range(2):
        study = optuna.create_study(storage=storage, study_name="s", load_if_exists=True)
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=6,
                       callbacks=[optuna.study.MaxTrialsCallback(8)])
    assert len(study.trials) == 8
    summary, = optuna.get_all_study_summaries(storage)
    assert (summary.study_name, summary.n_trials, summary.best_trial.value) == ("s", 8, study.best_value)
    assert len(optuna.create_study(storage=optuna.storages.InMemoryStorage()).trials) == 0


def test_distributions_travel_as_json_and_are_compared():
    d = optuna.distributions
    for one in (d.FloatDistribution(0.1, 1, log=True), d.IntDistribution(1, 9, step=2), d.CategoricalDistribution([None, "a", 1])):
        assert d.json_to_distribution(d.distribution_to_json(one)) == one
    assert d.json_to_distribution('{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 5}}') \
        == d.IntUniformDistribution(1, 5)  # as Optuna writes it
    d.check_distribution_compatibility(d.FloatDistribution(0, 1), d.FloatDistribution(0, 2))
    with pytest.raises(ValueError, match="another kind"):
        d.check_distribution_compatibility(d.FloatDistribution(0, 1), d.IntDistribution(0, 1))
    with pytest.raises(ValueError, match="choices have to stay"):
        d.check_distribution_compatibility(d.CategoricalDistribution([1]), d.CategoricalDistribution([2]))
    with pytest.raises(ValueError, match="is no distribution"):
        d.json_to_distribution('{"name": "Other"}')


# Optuna 5's public names that are here, and what their functions are called with.
OPTUNA = {
    "": ["TrialPruned", "copy_study", "create_study", "create_trial", "delete_study", "get_all_study_names", "load_study"],
    "study": ["MaxTrialsCallback", "Study", "StudyDirection", "StudySummary", "get_all_study_summaries"],
    "trial": ["BaseTrial", "FixedTrial", "FrozenTrial", "Trial", "TrialState", "create_trial"],
    "samplers": ["BaseSampler", "CmaEsSampler", "GPSampler", "GridSampler", "NSGAIISampler", "PartialFixedSampler", "QMCSampler",
                 "RandomSampler", "TPESampler"],
    "pruners": ["BasePruner", "HyperbandPruner", "MedianPruner", "NopPruner", "PatientPruner", "PercentilePruner",
                "SuccessiveHalvingPruner", "ThresholdPruner"],
    "distributions": ["BaseDistribution", "CategoricalDistribution", "FloatDistribution", "IntDistribution"],
    "exceptions": ["DuplicatedStudyError", "OptunaError", "TrialPruned", "UpdateFinishedTrialError"],
    "importance": ["FanovaImportanceEvaluator", "get_param_importances"],
    "storages": ["InMemoryStorage", "JournalStorage", "RDBStorage"],
}
ARGUMENTS = {
    "create_study": "storage sampler pruner study_name direction load_if_exists directions",
    "study.Study.optimize": "func n_trials timeout n_jobs catch callbacks gc_after_trial show_progress_bar",
    "study.Study.tell": "trial values state skip_if_finished",
    "study.Study.enqueue_trial": "params user_attrs skip_if_exists",
    "trial.FrozenTrial.suggest_float": "name low high step log",
    "trial.FixedTrial.suggest_uniform": "name low high",
    "trial.Trial.set_constraint": "key value",
    "trial.create_trial": "state value values params distributions user_attrs system_attrs intermediate_values constraints",
    "pruners.SuccessiveHalvingPruner": "min_resource reduction_factor min_early_stopping_rate bootstrap_count",
    "importance.get_param_importances": "study evaluator params target normalize",
}


def of_ours(path):
    found = optuna
    for name in filter(None, path.split(".")):
        found = getattr(found, name)
    return found


def test_optunas_names_are_there_with_their_arguments():
    import inspect

    for module, names in OPTUNA.items():
        for name in names:
            assert hasattr(of_ours(module), name), f"{module}.{name}"
    for path, arguments in ARGUMENTS.items():
        missing = set(arguments.split()) - set(inspect.signature(of_ours(path)).parameters)
        assert not missing, f"{path}: {missing}"
