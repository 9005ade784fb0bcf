# SPDX-License-Identifier: Apache-2.0
"""Mistakes in a job file, as `longship run` tells them: file, line, key, a suggestion; exit code 2; nothing is made."""

import pytest

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

HEAD = 'version = 1\nname = "sea"\ncommand = ["true"]\n'


@pytest.fixture
def refused(longship, tmp_path):
    """What is said about a job file that must be refused before anything happens."""

    def run(text, *words):
        project = tmp_path / "project"
        project.mkdir(exist_ok=True)
        (project / "job.toml").write_text(text)
        done = longship("run", "project/job.toml", *words)
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert not (project / "runs").exists()
        assert len(done.stderr) < 2000  # a sentence, not the file
        return done.stderr

    return run


@pytest.mark.parametrize("text, said", [
    ('version = 1\nname = "sea"\ncomand = ["true"]\n', ':3: comand: unknown key: did you mean "command"?'),
    (HEAD + "[needs]\nnodse = 2\n", ':5: needs.nodse: unknown key: did you mean "nodes"?'),
    (HEAD + "[need]\nnodes = 2\n", ':4: need: unknown key: did you mean "needs"?'),
    (HEAD + 'launch = "rank"\n', ':4: launch: expected one of ranks, mpi, spark, single, found "rank": did you mean'),
    (HEAD + "[needs]\nranks_per_node = 0\n", ":5: needs.ranks_per_node: expected an integer from 1"),
    (HEAD + '[needs]\nwalltime = "2 fortnights"\n', ":5: needs.walltime: "),
    (HEAD + '[needs]\nmemory_per_node = "90G"\n', ":5: needs.memory_per_node: "),
    (HEAD + 'code = "nowhere"\n', ":4: code: there is no directory"),
    (HEAD + 'name = "lake"\n', ":4:"),
    (HEAD + "[needs\n", ":4:"),
    ('version = 1\nname = "sea"\ncommand = "python3 train.py"\n', ":3: command: expected a list of texts"),
    ('name = "sea"\ncommand = ["true"]\n', ": version: missing"),
    ("version = 7\n", ":1: version: expected 1, found 7"),
    ("\x00\x01\x02", ":1:"),
    ("", ": version: missing"),
])
def test_a_mistake_is_named_by_file_line_and_key(refused, text, said):
    assert "project/job.toml" + said in refused(text)


def test_a_key_with_control_characters_does_not_reach_the_terminal(refused):
    message = refused(HEAD + '"\\u001b[31mred" = 1\n')
    assert "\x1b" not in message
    assert "unknown key" in message


@pytest.mark.parametrize("words, said", [
    (["--set", "needs.nodse=2"], '--set needs.nodse=2: needs.nodse: unknown key: did you mean "nodes"?'),
    (["--set", "needs.nodes=many"], '--set needs.nodes=many: needs.nodes: expected an integer'),
    (["--set", "needs.nodes=0"], "needs.nodes: expected an integer from 1 to 100000, found 0"),
    (["--set", "nodes"], "--set nodes: expected KEY=VALUE, such as needs.nodes=16"),
    (["--set", "=2"], "--set =2: expected KEY=VALUE"),
    (["--set", "name.of.it=2"], "no key can be set in it"),
    (["--set", 'name="a"\nlaunch="mpi"'], "name: "),
])
def test_a_mistake_in_set_names_the_option(refused, words, said):
    assert said in refused(HEAD, *words)


def test_set_cannot_mend_the_file_silently(refused):
    # What is wrong in the file is wrong whatever the options say.
    assert "job.toml:5: needs.nodse" in refused(HEAD + "[needs]\nnodse = 2\n", "--set", "needs.nodes=1")


def test_ten_megabytes_are_no_job_file(refused):
    assert "project/job.toml" in refused(HEAD + "# much\n" * 1_500_000)


def test_deep_nesting_is_refused_and_no_crash(refused):
    assert "project/job.toml" in refused(HEAD + "deep = " + "[" * 100_000 + "\n")
    assert "project/job.toml" in refused(HEAD + ".".join(["a"] * 50_000) + " = 1\n")


@pytest.mark.parametrize("name", ["absent.toml", "absent", "."])
def test_a_job_file_that_is_not_there_is_named(longship, tmp_path, name):
    done = longship("run", name)
    assert done.returncode == 2
    assert f"there is no job file {name}" in done.stderr
    assert "job.toml" in done.stderr
