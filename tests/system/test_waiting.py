# SPDX-License-Identifier: Apache-2.0
"""submit --wait and logs -f: told by the hub's events, and by the clock where the events do not come."""

import signal
import time

import pytest
from conftest import wait_until
from hub_lab import running_hub
from watching_proxy import WatchingProxy


@pytest.fixture
def hub(longship, tmp_path):
    with running_hub(longship, tmp_path) as lab:
        yield lab


@pytest.fixture
def through(hub, longship):
    """Commands that come to the hub through a proxy."""
    proxies = []

    def make(events):
        proxy = WatchingProxy(hub.port, events)
        proxies.append(proxy)
        longship.environment |= {"LONGSHIP_HUB": proxy.url, "LONGSHIP_TOKEN": hub.token}
        return proxy

    yield make
    for proxy in proxies:
        proxy.close()


def job_file(tmp_path):
    """Says a word, and ends when there is a file `go`."""
    (tmp_path / "job.toml").write_text(
        f'version = 1\nname = "sea"\ncommand = ["sh", "-c", "echo ahoy; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done"]\n')
    return tmp_path / "job.toml"


def test_waiting_does_not_ask_while_nothing_happens(hub, longship, through, tmp_path):
    proxy = through("pass")
    waiting = longship.start("submit", job_file(tmp_path), "--wait")
    hub.wait("sea-1", "running")
    wait_until(lambda: proxy.count("/v1/events") == 1, "it to listen")
    time.sleep(2)  # what was to be told has been told
    before = proxy.count("/v1/jobs/sea-1")
    time.sleep(4)  # asking by the clock would ask four times
    assert proxy.count("/v1/jobs/sea-1") - before <= 1
    (tmp_path / "go").touch()
    out, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 0, err
    assert proxy.count("/v1/events") == 1


@pytest.mark.parametrize("events", ["refuse", "keep", "cut"])
def test_without_events_the_clock_is_enough(hub, longship, through, tmp_path, events):
    proxy = through(events)
    waiting = longship.start("submit", job_file(tmp_path), "--wait")
    hub.wait("sea-1", "running")
    wait_until(lambda: proxy.count("/v1/events") >= 1, "it to try")
    (tmp_path / "go").touch()
    out, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 0, err
    assert proxy.count("/v1/jobs/sea-1") >= 2


def test_a_hub_that_is_restarted_is_listened_to_again(hub, longship, tmp_path):
    waiting = longship.start("submit", job_file(tmp_path), "--wait")
    hub.wait("sea-1", "running")
    hub.restart()
    (tmp_path / "go").touch()
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, err


@pytest.mark.parametrize("events", ["pass", "refuse", "keep"])
def test_logs_are_followed_to_the_end(hub, longship, through, tmp_path, events):
    through(events)
    assert longship("submit", job_file(tmp_path)).returncode == 0
    following = longship.start("logs", "-f", "sea-1")
    assert following.stdout.readline() == "ahoy\n"
    assert following.poll() is None
    (tmp_path / "go").touch()
    out, err = following.communicate(timeout=30)
    assert (following.returncode, out) == (0, ""), err


@pytest.mark.parametrize("words", [("submit", "--wait"), ("logs", "-f")])
def test_ctrl_c_ends_the_waiting_and_not_the_job(hub, longship, tmp_path, words):
    job = job_file(tmp_path)
    if words[0] == "logs":
        assert longship("submit", job).returncode == 0
    waiting = longship.start(*words, "sea-1" if words[0] == "logs" else job)
    hub.wait("sea-1", "running")
    time.sleep(0.5)  # it waits now
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=30)
    assert waiting.returncode == (0 if words[0] == "logs" else 130)
    assert hub.job("sea-1")["state"] == "running"
    (tmp_path / "go").touch()
    assert hub.wait("sea-1")["state"] == "finished"


def test_many_jobs_are_waited_for(hub, longship, tmp_path):
    (tmp_path / "job.toml").write_text('version = 1\nname = "sea"\ncommand = ["sh", "-c", "sleep 0.1"]\nlaunch = "single"\n')
    done = longship("submit", tmp_path / "job.toml", "--count", "30", "--wait")
    assert done.returncode == 0, done.stderr
    assert hub.get("/v1/jobs?limit=1")["counts"]["finished"] == 30
