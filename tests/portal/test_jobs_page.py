# SPDX-License-Identifier: Apache-2.0
"""Jobs: is mine running, and if not, why?"""

import json

import pytest


def row(job):
    return f".row:has(a[href='/jobs/{job}'])"


def test_a_running_job_shows_its_progress_and_the_course_of_its_loss(page, jobs):
    page.wait_for(f"{row(jobs.walker)} .sparkline path", "attached")
    assert page.text(f"{row(jobs.walker)} .state") == "running"
    assert page.text(f"{row(jobs.walker)} .metric").startswith("loss ")
    assert page.text(f"{row(jobs.walker)} .steps").replace("\u202f", "").endswith("/100000")
    assert page.text(f"{row(jobs.walker)} .c-site").startswith("here")


def test_a_waiting_job_says_why_in_its_row(page, jobs):
    reason = page.text(f"{row(jobs.waiting)} .c-reason")
    assert "node" in reason
    assert reason == jobs.hub.job(jobs.waiting)["reason"]


def test_a_failed_job_says_what_of(page, jobs):
    assert "exited with code 1" in page.text(f"{row(jobs.failed)} .c-reason")


def test_a_filter_is_in_the_address_and_survives_a_reload(page, jobs):
    page.click("role=button[name=/^failed/]")
    page.wait_for(f"{row(jobs.walker)}", "detached")
    assert page.where() == "/?state=failed"
    page.reload()
    page.wait_for(row(jobs.failed))
    assert page.count(row(jobs.walker)) == 0
    assert page.attribute("role=button[name=/^failed/]", "aria-pressed") == "true"
    page.click("role=button[name=/^all/]")
    page.wait_for(row(jobs.walker))
    assert page.where() == "/"


def test_search_narrows_the_table_and_is_in_the_address(page, jobs):
    page.press("/")
    page.fill("#search", "walk")
    page.wait_for(row(jobs.failed), "detached")
    page.wait_for(row(jobs.walker))
    assert page.where() == "/?text=walk"


def test_a_team_and_an_owner_are_chosen_from_those_there_are(open_page, new_hub):
    hub = new_hub()
    token = json.loads(hub.request("POST", "/v1/tokens", {"user": "anna", "team": "clic"})[1])["token"]
    job = {"version": 1, "name": "hers", "command": ["true"], "needs": {"nodes": 99}}
    assert hub.request("POST", "/v1/jobs", {"job": job, "code": None}, token=token)[0] == 201
    hub.submit(name="mine", command=["true"], needs={"nodes": 99})
    page = open_page(hub, "/?team=clic")
    page.wait_for(row("hers-1"))
    assert page.count(row("mine-1")) == 0
    page.choose("role=combobox[name='team']", "")
    page.wait_for(row("mine-1"))
    page.choose("role=combobox[name='owner']", "anna")
    page.wait_for(row("mine-1"), "detached")
    assert page.where() == "/?owner=anna"


def test_what_nobody_matches_offers_to_show_all(open_page, hub, jobs):
    page = open_page(hub, "/?text=nosuchjob")
    page.click("role=button[name='Show all jobs']")
    page.wait_for(row(jobs.walker))
    assert page.where() == "/"


@pytest.mark.may_complain("400")
def test_a_state_that_does_not_exist_is_answered_with_a_sentence(open_page, hub, jobs):
    page = open_page(hub, "/?state=runing")
    page.wait_for("role=alert")
    assert 'is no state of a job' in page.text("role=alert")


def test_j_and_k_move_and_enter_opens(page, jobs):
    page.wait_for(row(jobs.walker))
    page.press("j", "j", "k")
    first = page.attribute("[data-row='0']", "href")
    page.wait_until("(first) => document.activeElement.getAttribute('href') === first", first)
    page.press("Enter")
    page.wait_for("h1:has-text('-')")
    assert page.where() == first


def test_going_back_returns_to_the_same_filter(page, jobs):
    page.click("role=button[name=/^running/]")
    page.click(f"{row(jobs.walker)} a")
    page.wait_for(f"h1:has-text('{jobs.walker}')")
    page.back()
    page.wait_for(row(jobs.walker))
    assert page.where() == "/?state=running"


def test_a_new_job_appears_and_changes_without_a_reload(page, jobs):
    page.wait_for("text=live")
    name = jobs.hub.submit(name="sudden", command=["sleep", "1"], needs={"threads_per_rank": 1})
    page.wait_for(row(name))
    page.wait_for(f"{row(name)} .is-finished")


def test_an_empty_hub_teaches_the_first_command(open_page, new_hub):
    page = open_page(new_hub())
    page.wait_for("text=No jobs yet")
    assert "longship submit" in page.text(".empty pre")
    page.click(".empty .copy")
    page.wait_for("text=copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == "longship submit examples/digits/job.toml"
