# SPDX-License-Identifier: Apache-2.0
"""longship agent with a real pilot and the local batch system; the hub is played on its stdio."""

import os
import signal

import pytest
from agent_lab import PlayedHub, assignment, site_file
from conftest import wait_until
from processes import marked_processes

FAILPOINTS = ("agent.journalled", "agent.ordered", "agent.told", "agent.reported", "agent.submitted")


@pytest.fixture
def place(longship, tmp_path):
    """Where the site is; in the end nothing of it runs any more."""
    longship.environment["LONGSHIP_TEST_MARK"] = str(tmp_path)
    yield tmp_path
    for line in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"):
        os.kill(int(line.split()[0]), signal.SIGKILL)


def once(place, more=""):
    """A script whose runs can be counted."""
    return f"echo x >> {place}/ran; {more}"


def runs(place):
    return (place / "ran").read_text().count("x") if (place / "ran").exists() else 0


def pilots(place):
    return [line for line in marked_processes(f"LONGSHIP_TEST_MARK={place}") if " pilot " in line]


def test_an_attempt_is_carried_out_and_told(longship, place):
    hub = PlayedHub(longship, site_file(place, place / "spool"))
    hello = hub.welcome(assignments=[assignment("sea-1.1", once(place, "echo ahoy"))])
    assert hello["site"] == "here" and hello["attempts"] == []
    assert hub.wait_fact("ended", "sea-1.1")["outcome"] == "finished"
    kinds = [fact["kind"] for fact in hub.facts()]
    assert kinds == ["preparing", "queued", "started", "ended"]
    hub.send("question", id=7, attempt="sea-1.1", about="file", name="output/rank-00000.out", offset=0, length=100)
    answer = hub.wait(lambda m: m["kind"] == "answer", "the answer")
    assert (answer["id"], answer["payload"]) == (7, b"ahoy\n")
    wait_until(lambda: not pilots(place), "the pilot to leave, as there is no more work")


def test_it_ends_with_its_stdin_and_pilots_go_on(longship, place):
    file = site_file(place, place / "spool")
    hub = PlayedHub(longship, file)
    hub.welcome(assignments=[assignment("sea-1.1", once(place, f"while [ ! -e {place}/go ]; do sleep 0.05; done"))])
    hub.wait_fact("started", "sea-1.1")
    assert hub.hang_up() == 0
    assert pilots(place)
    (place / "go").touch()
    again = PlayedHub(longship, file)
    hello = again.wait(lambda m: m["kind"] == "hello", "hello")
    again.welcome(assignments=[assignment("sea-1.1", once(place))])
    assert hello["outbox"] == hub.wait(lambda m: m["kind"] == "hello", "hello")["outbox"]
    assert again.wait_fact("ended", "sea-1.1")["outcome"] == "finished"
    assert runs(place) == 1


def test_a_second_agent_is_told_who_has_the_spool(longship, place):
    file = site_file(place, place / "spool")
    hub = PlayedHub(longship, file)
    hub.welcome()
    second = longship("agent", "--stdio", "--site-file", file)
    assert second.returncode == 1
    assert f"another agent has the spool {place}/spool: process {hub.process.pid}" in second.stderr


def test_what_the_site_file_forbids_is_refused(longship, place):
    hub = PlayedHub(longship, site_file(place, place / "spool", teams=["clic"]))
    hub.welcome(assignments=[assignment("sea-1.1", once(place))])
    assert "clic" in hub.wait_fact("refused", "sea-1.1")["reason"]
    assert runs(place) == 0


def test_cancel_ends_a_running_attempt(longship, place):
    hub = PlayedHub(longship, site_file(place, place / "spool"))
    hub.welcome(assignments=[assignment("sea-1.1", "sleep 600")])
    hub.wait_fact("started", "sea-1.1")
    hub.send("stop", attempts=["sea-1.1"], reason="cancelled")
    assert hub.wait_fact("ended", "sea-1.1")["outcome"] == "cancelled"


def test_what_the_hub_no_longer_wants_is_stopped(longship, place):
    file = site_file(place, place / "spool")
    hub = PlayedHub(longship, file)
    hub.welcome(assignments=[assignment("sea-1.1", "sleep 600")])
    hub.wait_fact("started", "sea-1.1")
    hub.process.kill()
    again = PlayedHub(longship, file)
    again.welcome()
    assert again.wait_fact("ended", "sea-1.1")["outcome"] == "cancelled"


@pytest.mark.parametrize("point", FAILPOINTS)
@pytest.mark.parametrize("time", (1, 2))
def test_killed_between_two_steps_it_goes_on_and_runs_nothing_twice(longship, place, point, time):
    file = site_file(place, place / "spool")
    work = [assignment(f"sea-{i}.1", once(place)) for i in (1, 2)]
    hub = PlayedHub(longship, file, failpoints=f"{point}=kill:{time}")
    hub.welcome(assignments=work)
    seen = {}
    for _ in range(3):  # dies once, or not at all if the place is passed only once
        try:
            for attempt in ("sea-1.1", "sea-2.1"):
                hub.wait_fact("ended", attempt, patience=60)
            break
        except AssertionError:
            assert hub.process.poll() is not None, "neither dead nor done"
            hub = PlayedHub(longship, file)
            hub.welcome(assignments=work)
    for fact in hub.facts():
        if fact["kind"] == "ended":
            assert fact["attempt"] not in seen, "two last facts"
            seen[fact["attempt"]] = fact["outcome"]
    assert seen == {"sea-1.1": "finished", "sea-2.1": "finished"}
    assert runs(place) == 2
    wait_until(lambda: not pilots(place), "all pilots to leave")


def test_a_full_disk_under_the_spool_stops_nothing_for_good(longship, place, small_disk):
    spool = small_disk / "spool"
    file = site_file(place, spool)
    hub = PlayedHub(longship, file)
    hub.welcome()
    with open(small_disk / "ballast", "wb") as ballast:
        try:
            while True:
                ballast.write(b"\0" * 65536)
                ballast.flush()
        except OSError:
            pass
    hub.send("carry", assignments=[assignment(f"sea-{i}.1", once(place)) for i in range(1, 200)])
    assert hub.process.wait(timeout=60) == 1, "it says so and ends; the hub starts it again"
    assert runs(place) == 0
    (small_disk / "ballast").unlink()
    again = PlayedHub(longship, file)
    again.welcome(assignments=[assignment("sea-1.1", once(place))])
    assert again.wait_fact("ended", "sea-1.1")["outcome"] == "finished"
    assert runs(place) == 1
    wait_until(lambda: not pilots(place), "the pilot to leave")
    again.hang_up()
