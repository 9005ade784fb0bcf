# SPDX-License-Identifier: Apache-2.0
"""Boxes through the centre's own tool: podman for real, the others through fakes (tests/lab/fake_engine.py)."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import fake_engine
import pytest
from agent_lab import PlayedHub, assignment
from conftest import LAB, PROGRAM, needs
from images import STORE, mpi_ring
from processes import kill, marked_processes
from slurm_lab import slurm
from test_mpi import LIBRARIES, LOADED, ONE_HOST

pytestmark = [needs("busybox", "mksquashfs")]

FAKES = ["apptainer", "sarus", "podman-hpc"]
ENGINES = [*FAKES, pytest.param("podman", marks=[
    needs("podman", "crun"), pytest.mark.skipif(os.getuid() != 0, reason="podman needs root here, or subordinate ids")])]
PLACE = 'echo "$RANK of $WORLD_SIZE in $(cat /etc/marker), box $LONGSHIP_IN_BOX"'


@pytest.fixture
def ready(longship, tmp_path, nothing_stays_behind):
    """The program with an image, tiny, in its store and the fakes in its PATH."""
    tree = tmp_path / "tree"
    for name in ("bin", "etc", "tmp", "proc", "sys", "dev"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), tree / "bin" / "busybox")
    for name in ("sh", "cat", "env", "sleep", "touch", "id", "true"):
        (tree / "bin" / name).symlink_to("busybox")
    (tree / "etc" / "marker").write_text("the image\n")
    done = longship("image", "import", tree, "-t", "tiny")
    assert done.returncode == 0, done.stderr
    fakes = tmp_path / "fakes"
    longship.environment |= fake_engine.install(fakes, PROGRAM)
    longship.environment["PATH"] = f"{fakes}:{longship.environment['PATH']}"
    longship.fakes = fakes
    (fakes / "podman").symlink_to(LAB / "podman-lab.sh")
    return longship


@pytest.mark.parametrize("engine", ENGINES)
def test_ranks_run_in_the_engines_container(ready, engine):
    ready.environment["LONGSHIP_ENGINE"] = engine
    done = ready("launch", "-n", "2", "--image", "tiny", "sh", "-c", PLACE)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] {rank} of 2 in the image, box 1" for rank in (0, 1)]


@pytest.mark.parametrize("engine", FAKES)
def test_what_an_engine_is_told_has_no_secret_in_it(ready, engine):
    ready.environment["LONGSHIP_ENGINE"] = engine
    done = ready("launch", "-n", "1", "--image", "tiny", "--env", "KEY=hidden", "--no-prefix", "sh", "-c",
                 "echo $KEY $LONGSHIP_SECRET")
    key, secret = done.stdout.split()
    assert key == "hidden" and len(secret) == 64
    (run,) = [call for call in fake_engine.calls(ready.fakes) if call[1] in ("exec", "run")]
    assert "hidden" not in str(run) and secret not in str(run)
    assert run[0] == engine


@pytest.mark.parametrize("engine", ENGINES)
def test_the_environment_follows_the_boxes_rule(ready, engine):
    ready.environment |= {"LONGSHIP_ENGINE": engine, "EDITOR": "vi", "SLURM_FOO": "7", "LD_LIBRARY_PATH": "/nowhere"}
    done = ready("launch", "-n", "1", "--image", "tiny", "--no-prefix", "env")
    lines = done.stdout.splitlines()
    assert "SLURM_FOO=7" in lines, done.stderr
    assert not [line for line in lines if line.startswith(("EDITOR", "LD_LIBRARY_PATH", "container="))]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_exit_code_is_the_ranks_own(ready, engine):
    ready.environment["LONGSHIP_ENGINE"] = engine
    done = ready("launch", "-n", "2", "--image", "tiny", "sh", "-c", "[ $RANK = 0 ] || { echo no >&2; exit 7; }; sleep 1000")
    assert done.returncode == 7
    assert "rank 1 on" in done.stderr and "exited with code 7" in done.stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_kill_9_of_the_launcher_ends_the_ranks(ready, engine):
    ready.environment["LONGSHIP_ENGINE"] = engine
    process = ready.start("launch", "-n", "1", "--image", "tiny", "--no-prefix", "sh", "-c", "echo up; sleep 1000")
    assert process.stdout.readline() == "up\n", process.stderr.read()
    process.send_signal(signal.SIGKILL)  # nothing_stays_behind looks for the rest
    process.wait()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_box_is_the_engines_container_too(ready, engine):
    ready.environment |= {"LONGSHIP_ENGINE": engine, "EDITOR": "vi", "SLURM_FOO": "7"}
    data = ready.directory / "data"
    data.mkdir()
    (data / "x").write_text("data\n")
    script = 'cat /etc/marker /data/x -; echo "$A $SLURM_FOO [$EDITOR] [$LONGSHIP_ENGINE] $LONGSHIP_IN_BOX"; exit 5'
    done = ready("box", "--env", "A=a, b", "--bind", f"{data}:/data:ro", "tiny", "--", "sh", "-c", script,
                 stdin=None, input="said\n")
    assert done.stdout == "the image\ndata\nsaid\na, b 7 [] [] 1\n", done.stderr
    assert done.returncode == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_runs_and_its_outputs_are_kept(ready, job, engine):
    ready.environment["LONGSHIP_ENGINE"] = engine
    path = job(f"{PLACE}; [ $RANK = 1 ] || echo done > model.txt", top='image = "tiny"',
               more='[outputs]\nkeep = ["model.txt"]')
    done = ready("--json", "run", path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["state"] == "finished"
    assert (path.parent / "runs" / "sea-1" / "model.txt").read_text() == "done\n"


def play_hub(ready, tmp_path, engine, script):
    """Hub and agent, played and real, of a site with this engine; it is given a job."""
    file, store = tmp_path / "site.toml", ready.environment["LONGSHIP_STORE"]
    file.write_text(f'version = 1\nname = "here"\nbatch = "local"\nspool = "{tmp_path}/spool"\nstore = "{store}"\n'
                    f'engine = "{engine}"\n[node]\narch = "{os.uname().machine}"\ncores = 4\nmemory = "4GiB"\n'
                    f'[[queue]]\nname = "batch"\n')
    hub = PlayedHub(ready, file)
    record = Path(store, "images", "tiny.json").read_text()
    work = assignment("sea-1.1", script, image="tiny", outputs={"keep": ["*.txt"]})
    hub.welcome(assignments=[work | {"image": record}])
    return hub


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pilot_of_a_site_with_an_engine(ready, tmp_path, engine):
    hub = play_hub(ready, tmp_path, engine, f"{PLACE} > out.txt")
    ended = hub.wait_fact("ended", "sea-1.1", patience=60)
    assert ended["outcome"] == "finished", ended
    written = tmp_path / "spool" / "attempts" / "sea-1.1" / "out.txt"
    assert written.read_text() == "0 of 1 in the image, box 1\n"
    assert hub.hang_up() == 0
    kill(marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"))  # the pilot, which waits for more


@pytest.mark.parametrize("engine", FAKES)
def test_an_ordinary_user_has_it_too(ready, engine, as_user):
    ready.environment["LONGSHIP_ENGINE"] = engine
    done = ready("launch", "-n", "2", "--image", "tiny", "--no-prefix", "sh", "-c", PLACE, **as_user)
    assert sorted(done.stdout.splitlines()) == [f"{rank} of 2 in the image, box 1" for rank in (0, 1)], done.stderr


@needs("mpiexec.openmpi", "mpiexec.mpich")
@pytest.mark.parametrize("here", [True, False], ids=["its own mpiexec", "the image's mpiexec"])
@pytest.mark.parametrize("family", list(LIBRARIES))
def test_an_mpi_program_on_a_machine_of_its_own(ready, family, here):
    ready.environment |= {"LONGSHIP_ENGINE": "apptainer", "LONGSHIP_STORE": str(STORE), **ONE_HOST}
    if not here:
        ready.environment["PATH"] = str(ready.fakes)
    done = ready("launch", "--mpi", "-n", "2", "--image", mpi_ring(PROGRAM, family), "--no-prefix", "ring")
    assert done.returncode == 0, done.stderr
    assert "ring 1, sum 3" in done.stdout
    assert len(fake_engine.calls(ready.fakes)) == (2 if here else 1)


def test_an_engine_that_is_not_there_is_named(ready, job):
    for name in FAKES:
        (ready.fakes / name).unlink()
    ready.environment["LONGSHIP_ENGINE"] = "sarus"
    for words in (("launch", "-n", "1", "--image", "tiny", "true"), ("run", job("true", top='image = "tiny"'))):
        done = ready(*words)
        assert done.returncode == 3
        assert "boxes are to be started by sarus, and there is no such program" in done.stderr
    ready.environment["LONGSHIP_ENGINE"] = "podmann"
    done = ready("launch", "-n", "1", "--image", "tiny", "true")
    assert done.returncode == 2 and 'did you mean "podman"?' in done.stderr


def test_what_an_engine_says_when_it_fails_is_told(ready):
    (ready.fakes / "apptainer").unlink()
    (ready.fakes / "apptainer").write_text("#!/bin/sh\necho FATAL: no loop device >&2\nexit 255\n")
    (ready.fakes / "apptainer").chmod(0o755)
    ready.environment["LONGSHIP_ENGINE"] = "apptainer"
    done = ready("launch", "-n", "1", "--image", "tiny", "true")
    assert done.returncode == 1
    assert "apptainer exited with code 255 before all ranks had ended; it said: FATAL: no loop device" in done.stderr


def test_doctor_check_and_probe_know_the_engines(ready, as_user):
    refuse = ["/usr/bin/python3", str(LAB / "no_user_namespaces.py")]
    doctor = subprocess.run([*refuse, PROGRAM, "doctor"], env=ready.environment, text=True, capture_output=True, **as_user)
    assert "LONGSHIP_ENGINE=apptainer" in doctor.stdout
    check = subprocess.run([*refuse, PROGRAM, "check", "tiny"], env=ready.environment, text=True, capture_output=True,
                           **as_user)
    assert check.returncode == 0, check.stdout
    assert "let apptainer start them" in check.stdout
    probe = subprocess.run([*refuse, PROGRAM, "--json", "site", "probe", "--batch", "local"], env=ready.environment,
                           text=True, capture_output=True, **as_user)
    assert json.loads(probe.stdout)["engine"] == "apptainer", probe.stderr
    plain = ready("--json", "site", "probe", "--batch", "local", **as_user)
    assert json.loads(plain.stdout)["engine"] == "own"


def test_a_site_whose_engine_is_not_there_says_so(ready, tmp_path):
    (ready.fakes / "sarus").unlink()
    hub = play_hub(ready, tmp_path, "sarus", "true")
    ended = hub.wait_fact("ended", "sea-1.1", patience=60)
    assert ended["outcome"] == "lost"
    assert "boxes are to be started by sarus, and there is no such program" in ended["reason"]
    assert hub.hang_up() == 0
    kill(marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"))


@needs("slurmctld", "slurmd", "munged", "salloc")
class TestInAnAllocation:
    @pytest.fixture(scope="class")
    def lab(self):
        with slurm(nodes=2) as environment:
            yield environment

    def launch(self, ready, lab, *words):
        return subprocess.run(["salloc", "-N", "2", PROGRAM, "launch", "--per-node", "2", *words], text=True,
                              env=ready.environment | lab, capture_output=True, cwd=ready.directory, timeout=120)

    @pytest.mark.parametrize("engine", ENGINES)
    def test_one_container_on_each_node(self, ready, lab, engine):
        ready.environment["LONGSHIP_ENGINE"] = engine
        done = self.launch(ready, lab, "--image", "tiny", "sh", "-c", PLACE)
        assert done.returncode == 0, done.stderr
        expected = [f"[node{rank // 2 + 1} {rank}] {rank} of 4 in the image, box 1" for rank in range(4)]
        assert sorted(done.stdout.splitlines()) == expected
        if engine in FAKES:
            assert len([call for call in fake_engine.calls(ready.fakes) if call[1] in ("exec", "run")]) == 2

    @pytest.mark.parametrize("words", [[], ["--host-mpi"]], ids=["own", "host"])
    @pytest.mark.parametrize("family", ["openmpi", "mpich"])
    def test_an_mpis_ranks_have_a_container_each(self, ready, lab, family, words):
        ready.environment |= {"LONGSHIP_ENGINE": "apptainer", "LONGSHIP_STORE": str(STORE), **ONE_HOST}
        done = self.launch(ready, lab, "--mpi", *words, "--image", mpi_ring(PROGRAM, family), "sh", "-c",
                           LOADED.format(LIBRARIES[family]))
        assert done.returncode == 0, done.stderr
        assert "ring 6, sum 10" in done.stdout, done.stdout
        assert done.stdout.count("=> /opt/longship-host/mpi/lib/") == (4 if words else 0)
        assert len(fake_engine.calls(ready.fakes)) == 4
