# SPDX-License-Identifier: Apache-2.0
"""`longship study`: trials here and through the hub, and bad days on the way. The oracle: the budget is kept, and every trial
counts once."""

import csv
import http.server
import io
import json
import re
import shutil
import signal
import threading
import time

import pytest
from conftest import PROGRAM, REPOSITORY, wait_until
from hub_lab import running_hub
from images import STORE, image
from processes import kill, marked_processes

BOWL = """
import json, os, sys, time
from longship import study
values = study.values()
x = float(sys.argv[1])
assert values["x"] == x and study.trial_number() is not None
open(os.environ["RAN"] + "/" + str(study.trial_number()), "a").write("x")
for step in range(1, 4):
    study.report(step, (x - 0.25) ** 2 + 1.0 / step, other=x)
"""


def study_file(directory, name="bowl", keys="", space="x = { low = 0.0, high = 1.0 }", script=BOWL, trials=6, work=None):
    directory.mkdir(exist_ok=True)
    (directory / "ran").mkdir(exist_ok=True)
    (directory / "train.py").write_text(script)
    work = work or 'command = ["python3", "train.py", "{x}"]'
    budget = f"[budget]\ntrials = {trials}\n" if trials else ""
    (directory / "study.toml").write_text(
        f'version = 1\nname = "{name}"\n{work}\nobjective = {{ metric = "value" }}\n{keys}\n{budget}[space]\n{space}\n')
    return directory / "study.toml"


@pytest.fixture
def here(longship, tmp_path):
    longship.environment["RAN"] = str(tmp_path / "study" / "ran")
    return tmp_path / "study"


def shown(longship, study):
    done = longship("--json", "study", "show", study)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_each_counts_once(told, trials):
    over = [trial for trial in told["trials"] if trial["state"] in ("complete", "pruned", "failed")]
    assert len(over) == trials, told["counts"]
    assert len({trial["number"] for trial in over}) == trials
    assert told["counts"]["running"] == 0


@pytest.mark.usefixtures("nothing_stays_behind")
def test_a_study_of_a_command_from_its_file_to_its_pictures(longship, here, tmp_path):
    study = study_file(here, keys="parallel = 2\nseed = 3")
    done = longship("study", "run", study)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"best: trial \d+  \S+  x=\S+\n", done.stdout)
    told = shown(longship, study)
    check_each_counts_once(told, 6)
    best = min(told["trials"], key=lambda trial: trial["values"][0])
    assert told["best"][0]["number"] == best["number"]
    assert abs(best["values"][0] - ((best["params"]["x"] - 0.25) ** 2 + 1 / 3)) < 1e-9
    screen = longship("study", "show", here / "studies" / "bowl").stdout
    assert "trials    6 complete of 6\nprogress  100 %\n" in screen
    assert re.search(r"^TRIAL +STATE +VALUE +TIME +VALUES$", screen, re.MULTILINE)  # neither job nor reason: nobody has one
    assert longship("study", "best", study).stdout.startswith(f"trial {best['number']}: ")

    rows = list(csv.DictReader(io.StringIO(longship("study", "export", study).stdout)))
    assert len(rows) == 6 and float(rows[0]["value"]) == told["trials"][0]["values"][0]
    exported = json.loads(longship("study", "export", study, "--format", "json").stdout)
    assert exported["trials"] == told["trials"]

    assert longship("study", "plot", study, "-o", tmp_path / "plot.html").returncode == 0
    page = (tmp_path / "plot.html").read_text()
    assert not [url for url in re.findall(r"https?://[^\s\"'`<]+", page) if url != "http://www.w3.org/2000/svg"]
    watching = longship.start("study", "show", study, "--watch")
    assert watching.stdout.readline() == "study     bowl\n"
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=30) == 0
    again = longship("study", "run", study)  # there is nothing left to do
    assert again.returncode == 0 and shown(longship, study)["trials"] == told["trials"]


@pytest.mark.usefixtures("nothing_stays_behind")
def test_a_study_that_is_killed_goes_on_and_counts_each_trial_once(longship, here):
    study = study_file(here, keys="parallel = 3", trials=12)
    for after in (0.1, 0.3, 0.6, 0.9, 1.3):
        process = longship.start("study", "run", study)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert longship("study", "run", study).returncode == 0
    told = shown(longship, study)
    check_each_counts_once(told, 12)
    assert told["counts"]["complete"] == 12


def test_what_a_trial_leaves_ends_no_study(longship, here):
    """The second leaves more than anybody reads."""
    script = """
import os, sys
number = os.environ["LONGSHIP_TRIAL"]
path = os.environ["LONGSHIP_TRIAL_DIRECTORY"] + "/m.jsonl"
open(path, "w").write('{"value": 1}\\n')
if number == "1":
    os.truncate(path, 300 << 20)
if number == "2":
    sys.exit("x" * 100_000 + "\\nwhat it died of")
"""
    study = study_file(here, script=script, trials=4, keys='retries = 0')
    study.write_text(study.read_text().replace('metric = "value"', 'metric = "value", file = "m.jsonl"'))
    done = longship("study", "run", study)
    assert done.returncode == 0, done.stderr
    told = shown(longship, study)
    assert [trial["state"] for trial in told["trials"]] == ["complete", "failed", "failed", "complete"]
    reasons = [trial.get("reason", "") for trial in told["trials"]]
    assert "m.jsonl is larger than" in reasons[1] and "what it died of" in reasons[2], reasons


def test_a_hub_does_not_choose_which_files_a_fetched_study_writes(longship, tmp_path):
    class Lies(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"logs": {"0": 3, "./../../../precious": 3}}' if self.path.endswith("/journal") else b"new"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Lies)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    longship.environment |= {"LONGSHIP_HUB": f"http://127.0.0.1:{server.server_port}", "LONGSHIP_TOKEN": "x"}
    done = longship("study", "fetch", "gan", "--into", tmp_path / "studies")
    server.shutdown()
    assert done.returncode == 1
    assert 'the hub names "./../../../precious" as a log of the study' in done.stderr
    assert not (tmp_path / "studies").exists() and not (tmp_path / "precious").exists()


def test_an_ordinary_user_searches_as_well(longship, here, as_user, tmp_path):
    study = study_file(here, trials=3, keys="parallel = 2")
    for path in [here, *here.rglob("*")]:
        if as_user:
            shutil.chown(path, as_user["user"], as_user["group"])
    assert longship("study", "run", study, **as_user).returncode == 0
    check_each_counts_once(shown(longship, study), 3)


def test_a_job_is_a_trial_as_longship_run_would_run_it(longship, here):
    here.mkdir()
    (here / "job.toml").write_text("""version = 1
name = "work"
command = ["sh", "-c", '''cat v.json; printf '{{"score": %s, "lr": %s}' {n} $LR > m.jsonl''']
[env]
LR = "{x}"
[outputs]
keep = ["m.jsonl"]
""")
    study = study_file(here, work='job = "job.toml"\nvalues_file = "v.json"', trials=0, keys='sampler = { name = "grid", points = 2 }',
                       space="x = { low = 0.0, high = 1.0 }\nn = [3, 5]")
    text = study.read_text().replace('{ metric = "value" }', '{ metric = "score", file = "m.jsonl", direction = "maximize" }')
    study.write_text(text)
    done = longship("study", "run", study)
    assert done.returncode == 0, done.stderr
    told = shown(longship, study)
    check_each_counts_once(told, 4)
    assert sorted((trial["params"]["x"], trial["params"]["n"]) for trial in told["trials"]) == [(0, 3), (0, 5), (1, 3), (1, 5)]
    assert told["best"][0]["values"] == [5]
    (output,) = here.glob("studies/bowl/trials/0/attempt-1/work-1/output/rank-00000.out")
    assert json.loads(output.read_text()) == told["trials"][0]["params"]


def test_what_fails_is_tried_again_and_then_given_up_with_its_reason(longship, here):
    script = """
import os, sys
from longship import study
trial = study.trial_number()
runs = len(list(open(os.environ["RAN"] + f"/{trial}", "a+").write("x") and open(os.environ["RAN"] + f"/{trial}").read()))
if trial % 4 == 0 and runs == 1: sys.exit("a bad day")
if trial % 4 == 1: sys.exit("a bad life")
if trial % 4 == 2: study.report(1, float("nan"))
if trial % 4 in (0, 3): study.report(1, 1.0) if trial != 7 else None
"""
    study = study_file(here, script=script, trials=0, keys='sampler = "grid"\nretries = 1',
                       space='x = ["a", "b", "c", "d", "e", "f", "g", "h"]')
    done = longship("study", "run", study)
    assert done.returncode == 0, done.stderr
    trials = {trial["number"]: trial for trial in shown(longship, study)["trials"]}
    by_rest = {rest: [trials[n] for n in sorted(trials) if n % 4 == rest and n != 7] for rest in range(4)}
    assert all(trial["state"] == "complete" for trial in by_rest[0] + by_rest[3])
    assert all("a bad life" in trial["reason"] for trial in by_rest[1])
    assert all(trial["reason"] == '"value" is NaN' for trial in by_rest[2])
    assert 7 not in trials or trials[7]["reason"] == 'it never reported "value"'
    for trial in by_rest[1]:
        assert (here / "ran" / str(trial["number"])).read_text() == "xx"


@pytest.mark.usefixtures("nothing_stays_behind")
def test_a_hopeless_trial_is_stopped(longship, here):
    script = """
import time
from longship import study
for step in range(1, 1000):
    study.report(step, float(step))
    time.sleep(0.05)
"""
    study = study_file(here, script=script, trials=1, keys='pruner = { name = "threshold", upper = 5 }')
    done = longship("study", "run", study)
    (trial,) = shown(longship, study)["trials"]
    assert trial["state"] == "pruned" and trial["values"][0] > 5, done.stderr


MEMBER = """
import os, pathlib, sys, time
from longship import study
time.sleep(abs(float(sys.argv[1]) - 0.25))  # who does worst is last, and so has all others to take over from
parent, here = study.parent_directory(), pathlib.Path(os.environ["LONGSHIP_TRIAL_DIRECTORY"])
assert (parent is None) == (sys.argv[2] == "")
learnt = float((parent / "checkpoint").read_text()) if parent else 0.0
learnt += 1 - (float(sys.argv[1]) - 0.25) ** 2
(here / "checkpoint").write_text(str(learnt))
study.report(1, -learnt)
"""


@pytest.mark.usefixtures("nothing_stays_behind")
def test_a_population_is_trained_in_turns_through_checkpoints(longship, here):
    study = study_file(here, script=MEMBER, trials=16, work='command = ["python3", "train.py", "{x}", "{parent}"]',
                       keys="parallel = 4\nsampler = \"sobol\"\npopulation = { size = 4 }")
    running = longship.start("study", "run", study)
    wait_until(lambda: len(list(here.glob("studies/bowl/trials/*/attempt-*/checkpoint"))) >= 5, "a second turn")
    running.kill()
    running.wait()
    done = longship("study", "run", study)
    assert done.returncode == 0, done.stderr
    told = shown(longship, study)
    check_each_counts_once(told, 16)
    by_number = {trial["number"]: trial for trial in told["trials"]}
    firsts = [trial for trial in told["trials"] if "parent" not in trial]
    assert len(firsts) == 4
    for trial in told["trials"]:  # what it has learnt is what its parent had, and a turn
        before = by_number[trial["parent"]]["values"][0] if "parent" in trial else 0
        assert abs(trial["values"][0] - (before - 1 + (trial["params"]["x"] - 0.25) ** 2)) < 1e-9
    assert any(trial["params"] != by_number[trial["parent"]]["params"] for trial in told["trials"] if "parent" in trial)

    longship.environment["LONGSHIP_TOKEN"] = "nobody looks at it"
    refused = longship("study", "run", job_study(here.parent / "other", "", keys="population = { size = 4 }"), "--submit",
                       "--hub", "http://127.0.0.1:9")
    assert refused.returncode == 2 and "which the hub does not carry from site to site" in refused.stderr


def test_one_may_ask_and_tell_by_hand(longship, here):
    study = study_file(here)
    (asked,) = json.loads(longship("--json", "study", "ask", study).stdout)["trials"]
    assert 0 <= asked["values"]["x"] <= 1
    number = asked["trial"]
    assert longship("study", "tell", study, number, "--report", "1=3.5").returncode == 0
    assert longship("study", "tell", study, number, "--value", "2.5").returncode == 0
    twice = longship("study", "tell", study, number, "--value", "2.5")
    assert (twice.returncode, twice.stderr) == (2, f"longship: error: trial {number} has been told already: it is complete\n")
    wrong = longship("study", "tell", study, 999, "--value", "1")
    assert (wrong.returncode, wrong.stderr) == (2, "longship: error: there is no trial 999\n")
    nan = longship("study", "tell", study, number, "--value", "nan")
    assert nan.returncode == 2
    (trial,) = shown(longship, study)["trials"]
    assert trial["values"] == [2.5] and trial["reports"] == [[1, 3.5]]


def test_what_is_wrong_is_said_before_anything_runs(longship, here):
    unknown = study_file(here, work='command = ["train", "{y}"]')
    done = longship("study", "run", unknown)
    assert done.returncode == 2 and "{y} stands in the command, but the study has no such parameter" in done.stderr
    endless = study_file(here, name="endless", trials=0)
    done = longship("study", "run", endless)
    assert done.returncode == 2 and "has no end: give it a budget" in done.stderr
    typo = study_file(here, keys='smapler = "tpe"')
    done = longship("study", "create", typo)
    assert done.returncode == 2 and 'study.toml:5: smapler: unknown key: did you mean "sampler"?' in done.stderr
    fresh = study_file(here, name="fresh")
    done = longship("study", "show", fresh)
    assert done.returncode == 2 and "has not begun" in done.stderr
    done = longship("study", "run", fresh, "--submit")
    assert done.returncode != 0 and "no hub is running here" in done.stderr


def test_another_space_is_refused_and_nothing_is_lost(longship, here):
    study = study_file(here, trials=2)
    assert longship("study", "run", study).returncode == 0
    before = shown(longship, study)["trials"]
    study_file(here, trials=4, space="y = [1, 2]", work='command = ["python3", "train.py", "{y}"]')
    done = longship("study", "run", study)
    assert done.returncode == 2 and "was made for another space: x is gone; y is new" in done.stderr
    study_file(here, trials=4)
    assert longship("study", "run", study).returncode == 0
    after = shown(longship, study)["trials"]
    assert after[:2] == before and len(after) == 4


def test_a_torn_journal_loses_only_what_was_torn(longship, here):
    study = study_file(here, trials=3)
    assert longship("study", "run", study).returncode == 0
    log = here / "studies" / "bowl" / "writer-0" / "log"
    log.write_bytes(log.read_bytes()[:-3])  # the end of the last trial
    counts = shown(longship, study)["counts"]
    assert (counts["complete"], counts["running"]) == (2, 1)
    assert longship("study", "run", study).returncode == 0
    check_each_counts_once(shown(longship, study), 3)


def test_damage_in_the_middle_of_a_journal_is_told_of(longship, here):
    study = study_file(here, trials=3)
    assert longship("study", "run", study).returncode == 0
    log = here / "studies" / "bowl" / "writer-0" / "log"
    assert "damaged" not in longship("study", "show", study).stderr
    content = bytearray(log.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 1
    log.write_bytes(content)
    done = longship("study", "show", study)
    assert done.returncode == 0
    assert f"warning: {log} is damaged at byte" in done.stderr and "after that are not read" in done.stderr
    assert log.read_bytes() == content, "who only looks changes nothing"


# --- through the hub ---


@pytest.fixture
def hub(longship, tmp_path):
    with running_hub(longship, tmp_path) as lab:
        yield lab


def job_study(directory, script, keys="", trials=6):
    directory.mkdir(exist_ok=True)
    (directory / "code").mkdir(exist_ok=True)
    (directory / "code" / "work.sh").write_text(script)
    (directory / "job.toml").write_text('version = 1\nname = "work"\ncode = "code"\ncommand = ["sh", "work.sh", "{x}"]\n'
                                        '[needs]\nthreads_per_rank = 1\n[outputs]\nkeep = ["m.jsonl"]\n')
    study = study_file(directory, work='job = "job.toml"', keys=keys, trials=trials)
    study.write_text(study.read_text().replace('{ metric = "value" }', '{ metric = "score", file = "m.jsonl" }'))
    return study


def check_jobs(hub, told, trials):
    """Each trial was one job, and nothing else was handed in."""
    jobs = {trial["job"] for trial in told["trials"] if "job" in trial}
    assert len(jobs) == trials
    assert {job["id"] for job in hub.get("/v1/jobs?limit=1000")["jobs"]} == jobs


def test_trials_go_through_the_hub_while_study_and_pilots_are_killed(longship, hub, here, tmp_path):
    study = job_study(here, f'echo x >> {tmp_path}/study/ran/$LONGSHIP_TRIAL; sleep 0.4; echo "{{\\"score\\": $1}}" > m.jsonl\n',
                      keys="parallel = 2", trials=6)
    ran = lambda: sum(1 for _ in (here / "ran").iterdir())  # noqa: E731
    process = longship.start("study", "run", study, "--submit")
    wait_until(lambda: ran() >= 1, "the first trial")
    kill([line for line in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}") if " pilot " in line][:1])
    wait_until(lambda: ran() >= 3, "the third trial", patience=60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = longship("study", "run", study, "--submit", timeout=120)
    assert done.returncode == 0, done.stderr
    told = shown(longship, study)
    check_each_counts_once(told, 6)
    assert all(trial["values"] == [trial["params"]["x"]] for trial in told["trials"])
    check_jobs(hub, told, 6)
    (head,) = hub.get("/v1/studies")["studies"]
    assert head["counts"]["complete"] == 6 and head["best"] == told["best"]
    assert hub.get(f"/v1/studies/{head['owner']}/{head['name']}") == told
    assert hub.request("GET", "/v1/studies/nobody/bowl")[0] == 404
    assert hub.request("PUT", "/v1/studies/bowl", {"name": "bowl"})[0] == 400


def test_a_study_waits_for_a_hub_that_is_restarted(longship, hub, here, tmp_path):
    study = job_study(here, f'echo x >> {tmp_path}/study/ran/$LONGSHIP_TRIAL; sleep 0.5; echo "{{\\"score\\": $1}}" > m.jsonl\n',
                      keys="parallel = 2", trials=5)
    process = longship.start("study", "run", study, "--submit")
    wait_until(lambda: sum(1 for _ in (here / "ran").iterdir()) >= 2, "the second trial")
    hub.restart()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    told = shown(longship, study)
    check_each_counts_once(told, 5)
    assert told["counts"]["complete"] == 5
    check_jobs(hub, told, 5)


def test_a_study_goes_on_from_another_machine(longship, hub, here, tmp_path):
    study = job_study(here, f'echo x >> {tmp_path}/study/ran/$LONGSHIP_TRIAL; sleep 0.4; echo "{{\\"score\\": $1}}" > m.jsonl\n',
                      keys="parallel = 2", trials=6)
    first = longship.start("study", "run", study, "--submit")
    wait_until(lambda: sum(1 for _ in (here / "ran").iterdir()) >= 3, "the third trial", patience=60)
    first.send_signal(signal.SIGSTOP)  # its machine is cut off, and nobody knows whether it will come back
    there = tmp_path / "elsewhere"
    shutil.copytree(here, there, ignore=shutil.ignore_patterns("studies", "ran"))
    assert hub.request("GET", "/v1/studies/-/other/journal")[0] == 404
    assert hub.request("PUT", "/v1/studies/bowl/journal/0?at=0&run=nobody", b"x")[0] == 409
    assert hub.request("PUT", "/v1/studies/bowl/journal/run?at=0&run=nobody", b"x")[0] == 400
    assert longship("study", "fetch", "other", "--into", there / "studies").returncode == 2
    done = longship("study", "fetch", "bowl", "--into", there / "studies")
    assert done.returncode == 0, done.stderr
    counts = shown(longship, there / "study.toml")["counts"]
    assert counts["complete"] >= 1 and counts["complete"] + counts["running"] >= 3
    done = longship("study", "run", there / "study.toml", "--submit", timeout=120)
    assert done.returncode == 0, done.stderr
    first.send_signal(signal.SIGCONT)
    _, complaint = first.communicate(timeout=60)
    assert first.returncode == 1 and "carried out by another" in complaint
    told = shown(longship, there / "study.toml")
    check_each_counts_once(told, 6)
    check_jobs(hub, told, 6)
    done = longship("study", "run", study, "--submit")  # the first machine's journal is not the study any more
    assert done.returncode == 2 and "went on elsewhere" in done.stderr
    assert longship("study", "fetch", "bowl", "--into", tmp_path / "third").returncode == 0
    assert shown(longship, tmp_path / "third" / "bowl")["trials"] == told["trials"]


def test_a_hopeless_job_is_cancelled(longship, hub, here):
    script = """python3 - <<'END'
import time
from longship import study
for step in range(1, 600):
    study.report(step, score=float(step))
    time.sleep(0.1)
END
"""
    study = job_study(here, script, trials=1, keys='pruner = { name = "threshold", upper = 3 }')
    study.write_text(study.read_text().replace(', file = "m.jsonl"', ""))
    (here / "job.toml").write_text((here / "job.toml").read_text().replace('keep = ["m.jsonl"]', ""))
    assert longship("study", "run", study, "--submit").returncode == 0
    (trial,) = shown(longship, study)["trials"]
    assert trial["state"] == "pruned" and trial["reports"]
    assert hub.job(trial["job"])["state"] == "cancelled"


def test_the_example_in_boxes_with_a_pilot_killed_on_the_way(longship, hub, tmp_path):
    name = image(PROGRAM, "torch-bookworm", "bookworm", "python3-torch", "python3-numpy", "python3-sklearn")
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    hub.restart()  # with that store
    for example in ("digits", "sweep"):
        shutil.copytree(REPOSITORY / "examples" / example, tmp_path / example, ignore=shutil.ignore_patterns("runs", "studies"))
    sweep = tmp_path / "sweep"
    job = (sweep / "job.toml").read_text()
    (sweep / "job.toml").write_text(job.replace('"debian-torch"', f'"{name}"').replace('"--epochs", "5"', '"--epochs", "1"'))
    scan = (sweep / "scan.toml").read_text()
    (sweep / "scan.toml").write_text(scan.replace("points = 7", "points = 3"))
    process = longship.start("study", "run", sweep / "scan.toml", "--submit")
    pilots = wait_until(lambda: [line for line in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}") if " pilot " in line],
                        "a pilot", patience=60)
    kill(pilots[:1])
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    told = shown(longship, sweep / "scan.toml")
    check_each_counts_once(told, 3)
    assert [round(trial["params"]["lr"], 5) for trial in told["trials"]] == [0.0001, 0.00316, 0.1]

    done = longship("study", "run", sweep / "tpe.toml", "--submit", "--trials", 2, timeout=200)
    assert done.returncode == 0, done.stderr
    told = shown(longship, sweep / "tpe.toml")
    check_each_counts_once(told, 2)
    assert all(trial["values"][0] > 0.05 for trial in told["trials"])
