# SPDX-License-Identifier: Apache-2.0
"""Jobs through the hub to a real Slurm, and what a batch system does wrong on the way."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest
from conftest import PROGRAM, REPOSITORY, needs, wait_until
from hub_lab import HubLab
from images import STORE, image, mpi_ring
from processes import kill, marked_processes
from slurm_lab import slurm
from sshd import login_node
from test_mpi import LIBRARIES, LOADED, ONE_HOST, VERSIONS, needs_mpi
from test_voyage import check_committed_once, job_file

pytestmark = [needs("slurmctld", "slurmd", "munged", "sbatch")]

DIGITS = REPOSITORY / "examples" / "digits" / "job.toml"


@pytest.fixture(scope="module")
def lab():
    with slurm(nodes=2) as environment:
        yield environment


class Site:
    """The hub, and an agent on the "login node", each a process of its own."""

    def __init__(self, longship, tmp_path, lab):
        self.longship, self.directory, self.lab = longship, tmp_path, lab
        self.hub = HubLab(longship, tmp_path / "hub", command="hub").start()
        self.agent = None
        self.environment = longship.environment | lab
        probed = longship("site", "probe", "--name", "lab", "--spool", tmp_path / "spool", env=self.environment)
        assert probed.returncode == 0, probed.stderr
        self.file = tmp_path / "site.toml"
        self.file.write_text(probed.stdout)
        status, body = self.hub.request("POST", "/v1/sites", {"site": "lab"})
        assert status == 201, body
        (tmp_path / "agent.token").write_text(json.loads(body)["token"])

    def start_agent(self, **variables):
        with open(self.directory / "agent.log", "a") as log:
            self.agent = self.longship.start(
                "agent", "--site-file", self.file, "--hub", self.hub.url, "--token-file", self.directory / "agent.token",
                env=self.environment | variables, stdout=log, stderr=log)
        wait_until(lambda: self.hub.get("/v1/sites")["sites"][0]["state"] == "up", "the agent to connect")
        return self

    def kill_agent(self):
        self.agent.kill()
        self.agent.wait()

    def queue(self):
        return subprocess.run(["squeue", "-h", "-o", "%j"], env=self.environment, text=True,
                              capture_output=True).stdout.split()

    def submit(self, job, *words):
        done = self.longship("--json", "submit", job, *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["jobs"][0]


@contextmanager
def site_at(longship, tmp_path, lab):
    longship.environment["LONGSHIP_TEST_MARK"] = str(tmp_path)
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    at = Site(longship, tmp_path, lab)
    yield at
    if at.agent and at.agent.poll() is None:
        at.agent.kill()
    at.hub.stop()
    subprocess.run(["scancel", "-u", str(os.getuid())], env=at.environment, check=False)
    wait_until(lambda: not at.queue(), "all jobs to leave the queue")
    kill(marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"))


@pytest.fixture
def site(longship, tmp_path, lab):
    with site_at(longship, tmp_path, lab) as at:
        yield at


def test_digits_on_two_nodes_in_boxes_through_the_hub(site):
    image(PROGRAM, "debian-torch", "bookworm", "python3-torch", "python3-sklearn")
    site.start_agent()
    name = site.submit(DIGITS, "--set", "needs.nodes=2", "--set", 'command=["python3","train.py","--epochs","15"]')
    job = site.hub.wait(name, patience=180)
    assert job["state"] == "finished", job
    assert sorted(job["attempts"][0]["nodes"]) == ["node1", "node2"]
    assert {output["name"] for output in job["attempts"][0]["outputs"]} == {"model.pt", "metrics.jsonl"}
    assert "accuracy" in site.longship("logs", name).stdout
    report = site.hub.get(f"/v1/jobs/{name}/report")
    assert report["ranks"] == 4


def test_a_pilot_leaves_when_nothing_is_left_to_do(site, tmp_path):
    site.start_agent()
    check_committed_once(site.hub, site.submit(job_file(tmp_path / "job", "echo done > out.txt")))
    wait_until(lambda: not site.queue(), "the pilot to leave the queue", patience=90)


def test_an_answer_of_sbatch_that_is_lost_is_no_second_submission(site, tmp_path):
    """The first sbatch succeeds, but its answer does not arrive."""
    fake = tmp_path / "bin"
    fake.mkdir()
    real = subprocess.run(["which", "sbatch"], text=True, capture_output=True).stdout.strip()
    (fake / "sbatch").write_text(
        f"#!/bin/sh\n{real} \"$@\" || exit\n[ -e {tmp_path}/lost ] || {{ touch {tmp_path}/lost; exit 1; }}\n")
    (fake / "sbatch").chmod(0o755)
    site.start_agent(PATH=f"{fake}:{os.environ['PATH']}")
    name = site.submit(job_file(tmp_path / "job", "echo done > out.txt"))
    check_committed_once(site.hub, name)
    assert (tmp_path / "lost").exists()
    assert (tmp_path / "job" / "ran").read_text() == "x\n"


def test_slurmctld_killed_and_restarted_under_a_running_job(longship, tmp_path):
    """On a Slurm of its own: one killed before it wrote its state down gives the numbers of its jobs out again, and
    drains the node that still has such a job."""
    with slurm(nodes=1) as lab, site_at(longship, tmp_path, lab) as site:
        site.start_agent()
        go = tmp_path / "go"
        name = site.submit(job_file(tmp_path / "job", f"while [ ! -e {go} ]; do sleep 0.2; done; echo done > out.txt"))
        site.hub.wait(name, "running")
        directory = os.path.dirname(lab["SLURM_CONF"])
        os.kill(int(open(f"{directory}/slurmctld.pid").read()), signal.SIGKILL)
        wait_until(lambda: site.hub.get("/v1/sites")["sites"][0]["condition"],
                   "the site to say that Slurm does not answer", patience=90)
        assert site.hub.job(name)["state"] == "running"
        # Without the mark of this test: the lab ends it.
        subprocess.run(["slurmctld", "-f", lab["SLURM_CONF"]], env=os.environ | lab, check=True)
        go.touch()
        job = check_committed_once(site.hub, name)
        assert len(job["attempts"]) == 1


def test_a_silent_agent_does_not_start_a_job_twice(site, tmp_path):
    site.start_agent()
    go = tmp_path / "go"
    name = site.submit(job_file(tmp_path / "job", f"while [ ! -e {go} ]; do sleep 0.2; done; echo done > out.txt"))
    site.hub.wait(name, "running")
    site.kill_agent()
    wait_until(lambda: site.hub.get("/v1/sites")["sites"][0]["state"] == "silent", "the hub to notice", patience=60)
    assert site.hub.job(name)["state"] == "running"
    go.touch()
    time.sleep(2)  # it ends while nobody watches
    site.start_agent()
    job = check_committed_once(site.hub, name)
    assert len(job["attempts"]) == 1


def test_scancel_by_somebody_else_is_a_loss_and_the_job_goes_on(site, tmp_path):
    site.start_agent()
    first = tmp_path / "first"
    name = site.submit(job_file(tmp_path / "job",
                                f"if [ ! -e {first} ]; then touch {first}; sleep 1000; fi; echo done > out.txt"))
    wait_until(first.exists, "the first attempt")
    site.hub.wait(name, "running")
    subprocess.run(["scancel", "-u", str(os.getuid())], env=site.environment, check=False)  # 1 if one ended meanwhile
    job = site.hub.wait(name, "finished", patience=150)
    check_committed_once(site.hub, name)
    assert len(job["attempts"]) == 2


def slow_digits(directory, seconds):
    """examples/digits whose epochs take a while, so that it does not end within a minute."""
    shutil.copytree(DIGITS.parent, directory, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    script = directory / "train.py"
    text = script.read_text()
    marked = "    if checkpoints.due():\n"
    assert marked in text
    script.write_text(text.replace(marked, f"    time.sleep({seconds})\n{marked}"))
    return directory / "job.toml"


def test_a_walltime_kill_goes_on_from_the_checkpoint_in_a_new_allocation(site, tmp_path):
    image(PROGRAM, "debian-torch", "bookworm", "python3-torch", "python3-sklearn")
    site.start_agent()
    epochs = 30
    name = site.submit(slow_digits(tmp_path / "digits", 2), "--set", "needs.walltime=1m", "--set",
                       f'command=["python3","train.py","--epochs","{epochs}"]')
    job = site.hub.wait(name, patience=280)
    assert job["state"] == "finished", job
    assert [a["outcome"] for a in job["attempts"]][-2:] == ["timed_out", "finished"], job["attempts"]
    assert len({a["batch_job"] for a in job["attempts"]}) == len(job["attempts"]), "each in an allocation of its own"
    assert "going on after epoch" in site.longship("logs", name).stdout
    status, body = site.hub.request("GET", f"/v1/jobs/{name}/files/metrics.jsonl")
    lines = [json.loads(line) for line in body.splitlines()]
    assert [line["epoch"] for line in lines if "epoch" in line] == list(range(1, epochs + 1))


RING = REPOSITORY / "examples" / "mpi" / "job.toml"


@pytest.mark.parametrize("family, other", [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_the_variant_for_the_sites_mpi_is_chosen_and_the_wrong_one_explained(site, family, other):
    for each in (family, other):
        mpi_ring(PROGRAM, each)
    text = site.file.read_text()
    assert "[host.mpi]" in text
    site.file.write_text(re.sub(r'(\[host\.mpi\][^\[]*?family\s*=\s*)"\w+"', rf'\1"{family}"', text))
    site.environment.update(ONE_HOST)
    site.start_agent()
    name = site.submit(RING)
    job = site.hub.wait(name, patience=120)
    assert job["state"] == "finished", (job, site.longship("logs", name, "--err").stdout)
    assert job["attempts"][0]["image"] == f"mpi-ring:{family}"
    assert VERSIONS[family] in site.longship("logs", name).stdout
    wrong = site.submit(RING, "--set", f"image=mpi-ring:{other}")
    why = site.longship("why", wrong)
    assert other in why.stdout.lower().replace("open mpi", "openmpi") and "no" in why.stdout
    assert site.hub.job(wrong)["state"] == "waiting"


@needs_mpi
@pytest.mark.parametrize("family", list(LIBRARIES))
def test_the_ranks_of_a_job_use_the_sites_mpi_if_it_is_to_be_let_in(site, family):
    """From the site file through hub, agent, Slurm and pilot into the box: the loader finds the host's library."""
    mpi_ring(PROGRAM, family)
    library = LIBRARIES[family]
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path = re.search(rf"{re.escape(library)} .*=> (\S+)", known).group(1)
    text, changes = re.subn(r"\[host\.mpi\]\n(\w.*\n)*", f'[host.mpi]\nfamily = "{family}"\nlibrary = "{path}"\nlet_in = true\n',
                            site.file.read_text())
    assert changes == 1
    site.file.write_text(text)
    site.environment.update(ONE_HOST)
    site.start_agent()
    command = json.dumps(["sh", "-c", LOADED.format(library)])
    name = site.submit(RING, "--set", f"image=mpi-ring:{family}", "--set", f"command={command}")
    job = site.hub.wait(name, patience=120)
    said = site.longship("logs", "--all", name).stdout
    assert job["state"] == "finished", (job, site.longship("logs", name, "--err").stdout)
    assert said.count(f"{library} => /opt/longship-host/mpi/lib/{library} ") == 4, said
    assert f"ring 6, sum 10, {VERSIONS[family]}" in said


def test_each_rank_of_a_job_has_the_gpus_that_slurm_gave(site, tmp_path):
    """The lab's nodes have two fake GPUs each, and no driver but a CDI file of ours."""
    (tmp_path / "cdi").mkdir()
    devices = [{"name": str(number), "containerEdits": {"env": [f"FAKE_GPU_{number}=yes"]}} for number in range(2)]
    (tmp_path / "cdi" / "fake.json").write_text(json.dumps(
        {"cdiVersion": "0.5.0", "kind": "example.org/gpu", "devices": devices, "containerEdits": {}}))
    site.environment["LONGSHIP_CDI_DIRS"] = str(tmp_path / "cdi")
    site.start_agent()
    script = "echo rank $RANK has $CUDA_VISIBLE_DEVICES of $SLURM_JOB_GPUS, $FAKE_GPU_0$FAKE_GPU_1"
    name = site.submit(RING, "--set", 'launch="ranks"', "--set", "needs.gpus_per_rank=1", "--set",
                       f"command={json.dumps(['sh', '-c', script])}", "--set", "image=mpi-ring:mpich")
    job = site.hub.wait(name, patience=120)
    assert job["state"] == "finished", (job, site.longship("logs", name, "--err").stdout)
    said = site.longship("logs", "--all", name).stdout
    for rank in range(4):
        assert f"rank {rank} has {rank % 2} of 0,1, yesyes" in said, said


@pytest.mark.skipif(not os.path.exists("/usr/sbin/sshd"), reason="not installed: openssh-server")
def test_the_same_slurm_behind_ssh(longship, tmp_path, lab):
    longship.environment.update({"LONGSHIP_TEST_MARK": str(tmp_path), "LONGSHIP_STORE": str(STORE)})
    image(PROGRAM, "debian-torch", "bookworm", "python3-torch", "python3-sklearn")
    there = {"LONGSHIP_TEST_MARK": str(tmp_path), "LONGSHIP_STORE": str(STORE), "HOME": str(tmp_path), **lab}
    with login_node(environment=there) as node:
        longship.environment["PATH"] = node.program_directory() + ":" + longship.environment["PATH"]
        probed = longship("site", "probe", "--name", "far", "--spool", tmp_path / "spool", env=longship.environment | lab)
        (tmp_path / "site.toml").write_text(probed.stdout)
        hub = HubLab(longship, tmp_path / "hub", command="hub").start()
        added = longship("site", "add", "far", "--ssh", node.address, "--port", node.port, "--longship", PROGRAM,
                         "--site-file", tmp_path / "site.toml")
        assert added.returncode == 0, added.stderr
        wait_until(lambda: hub.get("/v1/sites")["sites"][0]["state"] == "up", "the agent behind ssh")
        done = longship("--json", "submit", DIGITS, "--set", "needs.nodes=2", "--set",
                        'command=["python3","train.py","--epochs","5"]')
        name = json.loads(done.stdout)["jobs"][0]
        job = hub.wait(name, patience=120)
        hub.stop()
        kill(marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"))
    assert job["state"] == "finished", job
    assert sorted(job["attempts"][0]["nodes"]) == ["node1", "node2"]
