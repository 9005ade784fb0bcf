# SPDX-License-Identifier: Apache-2.0
"""What stands in a pilot's log as no good pilot writes it: twice, late, torn, about others, with names that lead
elsewhere. The agent is the real one; the pilot has stopped itself as soon as it began, and the test writes in its place."""

import os
import signal

import pytest
from agent_lab import PlayedHub, assignment, site_file
from conftest import wait_until
from processes import marked_processes
from spool import LogWriter, read_log


class Site:
    """An agent, and pilots whose words are the test's."""

    def __init__(self, longship, place):
        self.longship, self.place = longship, place
        self.spool = place / "spool"
        longship.environment["LONGSHIP_FAILPOINTS"] = "pilot.began=stop"  # pilots inherit it
        self.file = site_file(place, self.spool)
        self.hub = PlayedHub(longship, self.file)

    def pilot_with(self, attempt):
        """The log to be written for the pilot that was given this attempt."""

        def find():
            for told in self.spool.glob("pilots/*/to_pilot"):
                takes = [m["assignment"]["attempt"] for m in read_log(told) if m["kind"] == "take"]
                if attempt in takes and read_log(told.parent / "from_pilot"):
                    return told.parent

        directory = wait_until(find, f"a pilot with {attempt}")
        return Pilot(directory)

    def facts(self, attempt):
        return [fact["kind"] for fact in self.hub.facts() if fact["attempt"] == attempt]

    def log(self):
        return (self.place / "agent.log").read_text()


class Pilot:
    def __init__(self, directory):
        self.name, self.log = directory.name, LogWriter.of(directory / "from_pilot")

    def runs(self, attempt):
        return {"kind": "running", "attempt": attempt, "ranks": 1, "nodes": ["n"]}

    def ended(self, attempt, outcome="finished", **more):
        return {"kind": "ended", "attempt": attempt, "outcome": outcome, "exit_code": 0, "milliseconds": 1, **more}


@pytest.fixture
def site(longship, tmp_path):
    longship.environment["LONGSHIP_TEST_MARK"] = str(tmp_path)
    made = Site(longship, tmp_path)
    yield made
    made.hub.process.kill()
    made.hub.process.wait()
    for line in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"):
        try:
            os.kill(int(line.split()[0]), signal.SIGKILL)
        except ProcessLookupError:
            pass


def work(attempt):
    """On one core, so that there is room for two pilots."""
    return assignment(attempt, "true", launch="ranks", needs={"threads_per_rank": 1})


def test_words_that_come_twice_count_once(site):
    site.hub.welcome(assignments=[work("sea-1.1")])
    pilot = site.pilot_with("sea-1.1")
    for _ in range(3):
        pilot.log.append(pilot.runs("sea-1.1"), pilot.runs("sea-1.1"))
    pilot.log.append(pilot.ended("sea-1.1"), pilot.ended("sea-1.1", "failed"))
    pilot.log.append(pilot.ended("sea-1.1", "lost"))
    assert site.hub.wait_fact("ended", "sea-1.1")["outcome"] == "finished"
    site.hub.send("carry", assignments=[work("sea-2.1")])  # what comes after it was read after it
    site.hub.wait_fact("queued", "sea-2.1")
    assert site.facts("sea-1.1") == ["preparing", "queued", "started", "ended"]


def test_words_that_come_late_change_nothing(site):
    site.hub.welcome(assignments=[work("sea-1.1"), work("sea-2.1")])
    pilot = site.pilot_with("sea-1.1")
    pilot.log.append(pilot.ended("sea-1.1"), pilot.runs("sea-1.1"), {"kind": "beat", "running": ["sea-1.1"]})
    pilot.log.append(pilot.runs("sea-1.1"), {"kind": "beat", "running": ["sea-1.1"]})
    other = site.pilot_with("sea-2.1")
    other.log.append(other.runs("sea-2.1"), other.ended("sea-2.1"))
    assert site.hub.wait_fact("ended", "sea-2.1")["outcome"] == "finished"
    assert site.hub.wait_fact("ended", "sea-1.1")["outcome"] == "finished"
    assert site.facts("sea-1.1") == ["preparing", "queued", "started", "ended"]
    heard = [one["attempt"] for m in site.hub.said if m["kind"] == "alive" for one in m.get("heard", [])]
    assert heard.count("sea-1.1") <= 1, "what has ended is not alive again"


def test_a_torn_record_is_read_when_it_is_whole(site):
    site.hub.welcome(assignments=[work("sea-1.1"), work("sea-2.1")])
    pilot, other = site.pilot_with("sea-1.1"), site.pilot_with("sea-2.1")
    assert pilot.name != other.name
    pilot.log.append(pilot.runs("sea-1.1"))
    finish = pilot.log.append_torn(pilot.ended("sea-1.1"))
    other.log.append(other.runs("sea-2.1"))
    site.hub.wait_fact("started", "sea-1.1")
    site.hub.wait_fact("started", "sea-2.1")
    other.log.append(other.ended("sea-2.1"))
    site.hub.wait_fact("ended", "sea-2.1")  # all logs were looked at meanwhile
    assert "ended" not in site.facts("sea-1.1")
    finish()
    assert site.hub.wait_fact("ended", "sea-1.1")["outcome"] == "finished"


def test_torn_words_are_read_by_the_next_agent_too(site):
    site.hub.welcome(assignments=[work("sea-1.1")])
    pilot = site.pilot_with("sea-1.1")
    pilot.log.append(pilot.runs("sea-1.1"))
    site.hub.wait_fact("started", "sea-1.1")
    finish = pilot.log.append_torn(pilot.ended("sea-1.1"))
    site.hub.process.kill()
    site.hub.process.wait()
    site.hub = PlayedHub(site.longship, site.file)
    site.hub.welcome(assignments=[work("sea-1.1")])
    finish()
    assert site.hub.wait_fact("ended", "sea-1.1")["outcome"] == "finished"
    pilot.log.append(pilot.ended("sea-1.1", "failed"))
    site.hub.send("carry", assignments=[work("sea-2.1")])
    site.hub.wait_fact("queued", "sea-2.1")
    assert site.facts("sea-1.1").count("ended") == 1


def test_a_message_of_a_kind_that_is_not_known_is_left_out_and_the_rest_is_read(site):
    site.hub.welcome(assignments=[work("sea-1.1")])
    pilot = site.pilot_with("sea-1.1")
    pilot.log.append(pilot.runs("sea-1.1"), {"kind": "dance"})
    pilot.log.append({"kind": "running", "attempt": "../../etc", "ranks": 1, "nodes": []})
    pilot.log.append(pilot.runs("sea-1.1"))
    pilot.log.append(pilot.ended("sea-1.1"))
    assert site.hub.wait_fact("ended", "sea-1.1")["outcome"] == "finished"
    assert 'no message of a pilot is called "dance"' in site.log()
    assert f"pilot {pilot.name}: record " in site.log()


def test_a_pilot_that_speaks_of_what_is_anothers_is_ignored_and_told(site):
    site.hub.welcome(assignments=[work("sea-1.1"), work("sea-2.1")])
    liar, other = site.pilot_with("sea-1.1"), site.pilot_with("sea-2.1")
    assert liar.name != other.name
    other.log.append(other.runs("sea-2.1"))
    site.hub.wait_fact("started", "sea-2.1")
    liar.log.append(liar.ended("sea-2.1", "failed"), liar.ended("sea-2.1"), {"kind": "beat", "running": ["sea-2.1"]},
                    liar.runs("lake-9.1"), liar.ended("lake-9.1"))
    liar.log.append(liar.runs("sea-1.1"), liar.ended("sea-1.1"))
    site.hub.wait_fact("ended", "sea-1.1")
    assert site.facts("sea-2.1") == ["preparing", "queued", "started"]
    assert site.facts("lake-9.1") == []
    assert f"pilot {liar.name} spoke of sea-2.1, which pilot {other.name} has: ignored" in site.log()
    assert f"pilot {liar.name} spoke of lake-9.1, which there is not here: ignored" in site.log()
    for _ in range(100):
        liar.log.append(liar.ended("sea-2.1", "failed"))
    other.log.append(other.ended("sea-2.1"))
    assert site.hub.wait_fact("ended", "sea-2.1")["outcome"] == "finished"
    assert site.log().count("spoke of") <= 5, "whoever talks nonsense does not fill the log"


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a/../../x", "..", "", "a\0b"])
def test_an_output_whose_name_leads_elsewhere_is_refused_with_a_sentence(site, name):
    site.hub.welcome(assignments=[work("sea-1.1")])
    pilot = site.pilot_with("sea-1.1")
    pilot.log.append(pilot.runs("sea-1.1"),
                     pilot.ended("sea-1.1", outputs=[{"name": "fine", "size": 1}, {"name": name, "size": 1}]))
    ended = site.hub.wait_fact("ended", "sea-1.1")
    assert ended["outcome"] == "failed" and "outputs" not in ended, ended
    assert "its pilot names an output that cannot be one" in ended["reason"]
