# SPDX-License-Identifier: Apache-2.0
"""Sites: where can I run?"""


def test_a_site_shows_its_state_its_queues_and_what_would_fit(open_page, hub, jobs):
    page = open_page(hub, "/sites")
    page.wait_for(".site")
    assert page.text(".site h2") == "here"
    assert page.text(".site .state") == "up"
    assert page.count(".queues tbody tr") == len(hub.get("/v1/sites")["sites"][0]["queues"])
    page.wait_for(f".places a:has-text('{jobs.waiting}')")
    assert "does not fit" in page.text(f".places li:has-text('{jobs.waiting}')")
    page.click(f".places a:has-text('{jobs.waiting}')")
    page.wait_for(f"h1:has-text('{jobs.waiting}')")


def test_a_site_leads_to_its_jobs(open_page, hub, jobs):
    page = open_page(hub, "/sites")
    page.click(".site h2 a")
    page.wait_for(f"a[href='/jobs/{jobs.walker}']")
    assert page.where() == "/?site=here"
    assert page.count(f"a[href='/jobs/{jobs.waiting}']") == 0


def test_a_site_that_was_added_appears_and_that_has_never_been_heard_of_says_so(open_page, new_hub):
    hub = new_hub()
    page = open_page(hub, "/sites")
    page.wait_for("text=live")
    status, body = hub.request("POST", "/v1/sites", {"site": "far"})
    assert status == 201, body
    page.wait_for("text=no agent has ever connected")
