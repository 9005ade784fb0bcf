# SPDX-License-Identifier: Apache-2.0
"""`longship report` on logs with known answers."""
import json
import os
import pathlib
import subprocess

import pytest

from recording import Recording

LONGSHIP = os.environ.get("LONGSHIP", str(pathlib.Path(__file__).parents[2] / "build/bin/longship"))


def report(*words):
    return subprocess.run([LONGSHIP, "report", *map(str, words)], capture_output=True, text=True, timeout=60)


@pytest.fixture
def run(tmp_path):
    """Ten steps of 100 ms; rank 1, whose clock is an hour behind, comes 30 ms late in eight of them."""
    ranks = [Recording(0, 2), Recording(1, 2, node="node-b", behind=3_600_000)]
    ranks[0].metrics(0, 10, 0, loss=2.0)
    for step in range(10):
        start = step * 100
        late = 30 if step < 8 else 0
        for rank, arrived in zip(ranks, (start + 50, start + 50 + late)):
            rank.span("input", start, start + 5, name="next batch")
            rank.span("communication", arrived, start + 70 + late, name="synchronize")
            rank.collective(step, arrived, start + 50 + late, start + 70 + late)
        ranks[0].metrics(step + 1, 10, start + 100, loss=1 / (step + 1))
    for rank in ranks:
        rank.write(tmp_path / "run" / "record")
    return tmp_path / "run"


GOLDEN = """\
2 ranks, 1.0 s, 10 steps of 100 ms; at the end loss 0.1
compute 63 %  communication 20 %  input 5 %  waiting 12 %

RANK  NODE    COMPUTE  COMMUNICATION  HIDDEN  WAITING  FOR     INPUT  LAST  OTHERS WAITED
   0  node-a     51 %           20 %     0 %     24 %  rank 1    5 %   0 %           0 ms
   1  node-b     74 %           21 %     0 %      0 %  -         5 %  80 %         240 ms

10 collectives, half of them of 1.0 MB or less; 0 % of their time beneath computation
rank 1 arrived last in 80 % of 10 collectives; others waited 240 ms for it
recording took 0.0073 % of the time: 71 entries of 2.0 µs on average

→ Rank 1 on node-b arrived last in 80 % of the collectives (more than 75 %), which cost the others 24 % of their time \
(more than 5 %): look at its node, or at its share of the data.
"""


def test_the_report_as_people_see_it(run):
    result = report(run)
    assert result.returncode == 0, result.stderr
    assert result.stdout == GOLDEN
    assert result.stderr == ""
    assert report(run / "record").stdout == GOLDEN


def test_json_for_scripts(run):
    result = json.loads(report(run, "--json").stdout)
    assert result["version"] == 1
    assert result["ranks"] == 2
    assert result["steps"] == 10
    assert result["interval_seconds"] == pytest.approx(1.0)
    assert result["metrics"] == {"loss": pytest.approx(0.1)}
    first, second = result["by_rank"]
    assert first["seconds"] == pytest.approx(
        {"compute": 0.51, "communication": 0.2, "waiting": 0.24, "input": 0.05, "checkpoint": 0, "other": 0})
    assert (first["waited_for"], first["waited_for_seconds"]) == (1, pytest.approx(0.24))
    assert second["waited_for"] is None
    assert result["recording"] == {"entries": 71, "seconds": pytest.approx(0.0001435)}
    assert second["arrived_last"] == 8
    assert second["others_waited_seconds"] == pytest.approx(0.24)
    assert result["collectives"]["count"] == 10
    assert result["problems"] == []


def test_the_timeline_loads(run, tmp_path):
    file = tmp_path / "timeline.json"
    assert report(run, "--timeline", file).returncode == 0
    events = json.loads(file.read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert names == {"node-a", "node-b", "rank 0", "rank 1"}
    assert {event["ph"] for event in events} == {"M", "X", "b", "e", "C"}
    open_slices = 0
    for event in events:
        open_slices += {"b": 1, "e": -1}.get(event["ph"], 0)
        assert open_slices >= 0
    assert open_slices == 0
    assert all(0 <= event["ts"] <= 1_000_000 for event in events if "ts" in event)


def test_a_missing_rank_and_a_torn_log_are_told(run):
    (run / "record/rank-00001.rec").unlink()
    log = run / "record/rank-00000.rec"
    log.write_bytes(log.read_bytes() + b"torn")
    result = report(run)
    assert result.returncode == 0
    assert "warning: there is no log of rank 1" in result.stderr
    assert "the log of rank 0 ends early: its last block was cut off" in result.stderr


@pytest.mark.parametrize("name, said, code", [("absent", "there is no directory", 2), ("", "there is nothing to report", 1)])
def test_nothing_to_report(tmp_path, name, said, code):
    result = report(tmp_path / name)
    assert result.returncode == code
    assert said in result.stderr
    assert result.stdout == ""


def test_a_log_of_garbage_is_an_error_and_no_crash(tmp_path):
    (tmp_path / "rank-00000.rec").write_bytes(os.urandom(4096))
    result = report(tmp_path)
    assert result.returncode == 1
    assert "is not a record log" in result.stderr


def test_what_one_may_not_read_is_not_called_empty_or_missing(longship, as_user, tmp_path):
    if not as_user:
        pytest.skip("only root can make what this user may not read")
    closed = tmp_path / "closed"
    (closed / "image").mkdir(parents=True)
    closed.chmod(0o700)
    done = longship("report", closed, **as_user)
    assert done.returncode == 1 and f"cannot open {closed}: Permission denied" in done.stderr
    done = longship("check", closed / "image", **as_user)
    assert done.returncode == 1 and f"cannot look at {closed}/image: Permission denied" in done.stderr
    done = longship("run", closed / "job.toml", **as_user)
    assert done.returncode == 1 and f"cannot look at {closed}/job.toml: Permission denied" in done.stderr
