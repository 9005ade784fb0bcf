# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common, and completion in a real shell."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

LONGSHIP = os.environ.get("LONGSHIP", str(pathlib.Path(__file__).parents[2] / "build/bin/longship"))


def longship(*words):
    return subprocess.run([LONGSHIP, *words], capture_output=True, text=True, timeout=60)


def commands():
    """The names in `longship --help`."""
    listing = longship("--help").stdout.split("Subcommands:")[1].split("Examples:")[0]
    return re.findall(r"^  ([a-z]+) ", listing, re.MULTILINE)


def test_help_lists_the_commands_and_examples():
    result = longship("--help")
    assert result.returncode == 0
    assert "Examples:" in result.stdout
    assert {"run", "launch", "report", "image", "box", "doctor", "completion"} <= set(commands())


def test_every_command_has_help_with_an_example_and_json():
    for command in commands():
        result = longship(command, "--help")
        assert result.returncode == 0, command
        assert "Examples:" in result.stdout, command
        assert f"longship {command}" in result.stdout or command == "completion", command
        assert "--json" in result.stdout, command


@pytest.mark.parametrize("words, said", [
    (["reprot"], 'did you mean "report"?'),
    (["report"], "DIR is required"),
    (["run"], "FILE is required"),
    (["completion", "tcsh"], "tcsh"),
    ([], "subcommand is required"),
])
def test_wrong_use_exits_with_2_and_says_why(words, said):
    result = longship(*words)
    assert result.returncode == 2
    assert said in result.stderr
    assert "longship: error: " in result.stderr
    assert result.stdout == ""


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    assert longship("report", str(tmp_path), "--timeline", "/proc/nowhere").returncode == 1


def test_output_that_did_not_arrive_is_an_error_unless_nobody_reads_on():
    with open("/dev/full", "w") as full:
        lost = subprocess.run([LONGSHIP, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert lost.returncode == 1
    assert "not all of the output could be written: No space left on device" in lost.stderr
    read, write = os.pipe()
    os.close(read)
    unread = subprocess.run([LONGSHIP, "doctor"], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert unread.returncode in (-signal.SIGPIPE, 128 + signal.SIGPIPE)
    assert unread.stderr == ""


def offered(script, *words):
    """What bash offers for these words, the last of which is being typed."""
    quoted = " ".join(f"'{word}'" for word in words)
    line = f"source {script}; complete -p longship; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _longship; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    output = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, text=True, check=True, timeout=60)
    assert output.stderr == ""
    lines = output.stdout.splitlines()
    assert lines[0].startswith("complete ")
    return [word for word in lines[1:] if word]


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory):
    script = tmp_path_factory.mktemp("completion") / "longship"
    script.write_text(longship("completion", "bash").stdout)
    return script


def test_bash_completes_every_command(bash_script):
    assert set(offered(bash_script, "longship", "")) == set(commands())
    assert offered(bash_script, "longship", "rep") == ["report"]


def test_bash_completes_options_values_and_leaves_files_alone(bash_script):
    assert "--timeline" in offered(bash_script, "longship", "report", "--t")
    assert offered(bash_script, "longship", "completion", "b") == ["bash"]
    assert offered(bash_script, "longship", "report", "--timeline", "f") == []
    assert set(offered(bash_script, "longship", "image", "")) >= {"ls", "show", "rm", "build"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(shell, tmp_path):
    script = tmp_path / "script"
    script.write_text(longship("completion", shell).stdout)
    assert "report" in script.read_text()
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(script)], check=True, timeout=60)
