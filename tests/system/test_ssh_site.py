# SPDX-License-Identifier: Apache-2.0
"""A site behind ssh: the hub starts the agent there and talks on its stdio. The login node is Debian's sshd on loopback."""

import json
import os
import signal

import pytest
from conftest import PROGRAM, needs, wait_until
from hub_lab import HubLab
from processes import kill, marked_processes
from sshd import login_node
from test_voyage import check_committed_once, job_file

pytestmark = [needs("ssh", "ssh-keygen"),
              pytest.mark.skipif(not os.path.exists("/usr/sbin/sshd"), reason="not installed: openssh-server")]


@pytest.fixture
def node(longship, tmp_path):
    mark = str(tmp_path)
    longship.environment["LONGSHIP_TEST_MARK"] = mark
    home = tmp_path / "there"
    home.mkdir()
    there = {"LONGSHIP_TEST_MARK": mark, "HOME": home, "LONGSHIP_STORE": home / "store", "NO_COLOR": "1"}
    with login_node(environment=there) as at:
        longship.environment["PATH"] = at.program_directory() + ":" + longship.environment["PATH"]
        yield at
        kill(marked_processes(f"LONGSHIP_TEST_MARK={mark}"))


@pytest.fixture
def hub(longship, tmp_path, node):
    lab = HubLab(longship, tmp_path / "hub", command="hub").start()
    yield lab
    lab.stop()


def site_file(tmp_path, **keys):
    """Written on the login node by the person whose account it is."""
    accept = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    path = tmp_path / "far.toml"
    path.write_text(f'''version = 1
name = "far"
batch = "local"
spool = "{tmp_path}/there/spool"
store = "{tmp_path}/there/store"

[node]
arch = "{os.uname().machine}"
cores = 4
memory = "4GiB"

[[queue]]
name = "batch"
max_nodes = 1

[accept]
{accept}
''')
    return path


def add_site(hub, node, file, program=PROGRAM):
    status, body = hub.request("POST", "/v1/sites", {
        "site": "far", "ssh": node.address, "port": node.port, "longship": str(program), "site_file": str(file)})
    assert status == 201, body


def state_of(hub, name="far"):
    return next((site for site in hub.get("/v1/sites")["sites"] if site["name"] == name), {"state": "none"})


def agents(tmp_path):
    """Process ids of agents: what they forked to watch over a local pilot has their words, but another name."""
    found = []
    for line in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"):
        pid, program = line.split()[:2]
        try:
            name = open(f"/proc/{pid}/comm").read().strip()
        except OSError:
            continue
        if " agent --stdio" in line and os.path.basename(program) == "longship" and name == "longship":
            found.append(int(pid))
    return found


def up(hub):
    return wait_until(lambda: state_of(hub)["state"] == "up", "the site to be up")


def test_the_login_node_lets_its_key_in(node):
    assert node.run("echo", "ahoy").stdout == "ahoy\n", node.said()


def test_a_job_goes_through_ssh_and_comes_back(hub, longship, node, tmp_path):
    add_site(hub, node, site_file(tmp_path))
    up(hub)
    done = longship("--json", "submit", job_file(tmp_path / "job", "echo done > out.txt; echo over there"))
    assert done.returncode == 0, done.stderr
    name = json.loads(done.stdout)["jobs"][0]
    job = check_committed_once(hub, name)
    assert job["site"] == "far"
    assert "over there" in longship("logs", name).stdout


def test_a_killed_agent_is_started_again_and_the_job_goes_on(hub, longship, node, tmp_path):
    add_site(hub, node, site_file(tmp_path))
    up(hub)
    go = tmp_path / "go"
    job = job_file(tmp_path / "job", f"while [ ! -e {go} ]; do sleep 0.1; done; echo done > out.txt")
    done = longship("--json", "submit", job)
    name = json.loads(done.stdout)["jobs"][0]
    hub.wait(name, "running")
    killed = agents(tmp_path)
    assert killed
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    go.touch()
    check_committed_once(hub, name)
    assert (tmp_path / "job" / "ran").read_text() == "x\n", "it ran once"


def test_a_hub_that_ends_takes_its_agent_along_but_no_pilot(hub, longship, node, tmp_path):
    add_site(hub, node, site_file(tmp_path))
    up(hub)
    go = tmp_path / "go"
    job = job_file(tmp_path / "job", f"while [ ! -e {go} ]; do sleep 0.1; done; echo done > out.txt")
    name = json.loads(longship("--json", "submit", job).stdout)["jobs"][0]
    hub.wait(name, "running")
    hub.kill()
    wait_until(lambda: not agents(tmp_path), "the agent to end with its stdin")
    go.touch()
    hub.start()
    check_committed_once(hub, name)
    assert (tmp_path / "job" / "ran").read_text() == "x\n", "it ran once"


def test_the_site_does_not_take_what_its_own_file_forbids(hub, longship, node, tmp_path):
    add_site(hub, node, site_file(tmp_path, teams=["clic"]))
    up(hub)
    name = hub.submit()
    wait_until(lambda: "far" in longship("why", name).stdout, "the hub to know the site")
    assert hub.job(name)["state"] == "waiting"
    assert "clic" in longship("why", name).stdout


def test_a_program_that_is_not_there_is_told(hub, longship, node, tmp_path):
    add_site(hub, node, site_file(tmp_path), program="/no/such/longship")
    wait_until(lambda: "/no/such/longship" in state_of(hub).get("condition", ""), "the reason to be shown")
