# SPDX-License-Identifier: Apache-2.0
"""longship.progress in scripts that never call init(): those that have no other ranks, or meet them by other means."""
import os
import subprocess
import sys

import pytest
from ranks import BOX_SIDE

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LONGSHIP") and k not in ("RANK", "WORLD_SIZE")}
ENVIRONMENT["PYTHONPATH"] = str(BOX_SIDE / "python")


def python(script, **variables):
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT | variables, text=True, capture_output=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_is_recorded_without_init(tmp_path):
    python("import longship\nlongship.progress(1, 3, loss=0.5)", LONGSHIP_RECORD=str(tmp_path))
    assert b"loss" in (tmp_path / "rank-00000.rec").read_bytes()


def test_spans_are_recorded_without_init(tmp_path):
    python("from longship import trace\nfor x in trace.batches([1, 2]): pass", LONGSHIP_RECORD=str(tmp_path))
    assert b"next batch" in (tmp_path / "rank-00000.rec").read_bytes()


def test_is_there_at_once_and_not_only_at_the_end(tmp_path):
    said = python("import longship, os\nlongship.progress(1, 3, loss=0.5)\n"
                  "print(b'loss' in open(os.environ['LONGSHIP_RECORD'] + '/rank-00000.rec', 'rb').read())",
                  LONGSHIP_RECORD=str(tmp_path))
    assert said == "True\n"


def test_goes_into_the_log_of_its_own_rank_and_needs_no_rendezvous(tmp_path):
    python("import longship\nlongship.progress(1, 3, loss=0.5)", LONGSHIP_RECORD=str(tmp_path), RANK="2", WORLD_SIZE="4",
           LONGSHIP_RENDEZVOUS="127.0.0.1:1", LONGSHIP_SECRET="0" * 32)
    assert [path.name for path in tmp_path.iterdir()] == ["rank-00002.rec"]


def test_what_comes_after_shutdown_does_not_hide_what_was_recorded(tmp_path):
    python("import longship\nfrom longship._library import library\n"
           "longship.progress(1, before=1)\nlibrary.init()\nlongship.progress(2, during=2)\nlibrary.shutdown()\n"
           "longship.progress(3, after=3)\n", LONGSHIP_RECORD=str(tmp_path))
    log = (tmp_path / "rank-00000.rec").read_bytes()
    assert b"during" in log and b"after" not in log


def test_a_forked_child_leaves_its_parents_log_alone(tmp_path):
    python("import longship, os, sys\nlongship.progress(1, parent=1)\n"
           "pid = os.fork()\nif pid == 0:\n    longship.progress(2, child=2)\n    sys.exit()\n"
           "os.waitpid(pid, 0)\nlongship.progress(3, parent=3)\n", LONGSHIP_RECORD=str(tmp_path))
    log = (tmp_path / "rank-00000.rec").read_bytes()
    assert b"parent" in log and b"child" not in log


def test_a_helper_of_the_process_that_trains_leaves_its_log_alone(tmp_path):
    """Such as the workers of a data loader, which are started with the same environment."""
    python("import longship, subprocess, sys\nlongship.progress(1, parent=1)\n"
           "subprocess.run([sys.executable, '-c', 'import longship; longship.progress(2, helper=2)'], check=True)\n"
           "longship.progress(3, later=3)\n", LONGSHIP_RECORD=str(tmp_path))
    log = (tmp_path / "rank-00000.rec").read_bytes()
    assert b"parent" in log and b"later" in log and b"helper" not in log


@pytest.mark.parametrize("call, said", [
    ("longship.progress('x')", "TypeError: progress: step='x': expected a whole number"),
    ("longship.progress(1.5, 3)", "TypeError: progress: step=1.5: expected a whole number"),
    ("longship.progress(-1)", "ValueError: progress: step=-1: expected a number from 0 on"),
    ("longship.progress(1, 1 << 70)", "ValueError: progress: total=1180591620717411303424: expected a number"),
    ("longship.trace.region('load', 'io')", "ValueError: region: there is no activity 'io': one of compute, communication"),
])
def test_wrong_words_are_told_in_a_sentence_in_a_job_and_on_the_laptop(tmp_path, call, said):
    for variables in {}, {"LONGSHIP_RECORD": str(tmp_path)}:
        done = subprocess.run([sys.executable, "-c", f"import longship, longship.trace\n{call}"], env=ENVIRONMENT | variables,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert done.stderr.strip().splitlines()[-1].startswith(said), done.stderr


def test_outside_of_a_job_the_library_is_not_even_loaded():
    assert python("import longship\nlongship.progress(1, loss=1)\nprint('liblongship' in open('/proc/self/maps').read())",
                  LONGSHIP_LIBRARY="/no/such/library") == "False\n"


def test_a_record_that_cannot_be_written_does_not_stop_the_training(tmp_path):
    (tmp_path / "file").write_text("in the way")
    python("import longship\nlongship.progress(1, loss=1)", LONGSHIP_RECORD=str(tmp_path / "file" / "record"))
