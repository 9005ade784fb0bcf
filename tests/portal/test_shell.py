# SPDX-License-Identifier: Apache-2.0
"""What is around the pages: the token, the theme, keys, and a connection that may be lost."""

import urllib.request

import pytest


def test_the_token_is_taken_out_of_the_address_and_kept(open_page, hub, jobs):
    page = open_page(hub)
    page.wait_for(".table")
    assert "token" not in page.evaluate("() => location.href")
    page.go("/sites")
    page.wait_for(".site")


def test_without_a_token_the_page_says_how_to_get_one(open_page, hub):
    page = open_page(hub, token=False)
    page.wait_for("text=Who are you?")
    assert page.text("main pre") == "longship up"
    page.fill("#token", f"{hub.url}/#token={hub.token}")
    page.click("text=Go on")
    page.wait_for("text=live")


@pytest.mark.may_complain("401")
def test_a_token_that_the_hub_does_not_know_is_said_to_be_so(open_page, hub):
    page = open_page(hub, "/#token=0123456789abcdef", token=False)
    page.wait_for("role=alert")
    assert "does not know" in page.text("role=alert")


def test_the_page_allows_nothing_from_elsewhere(hub):
    with urllib.request.urlopen(hub.url + "/") as response:
        policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy


def test_all_javascript_together_is_small(hub, page):
    page.go("/")
    page.wait_for("text=live")
    names = page.evaluate("() => performance.getEntriesByType('resource').map((e) => new URL(e.name).pathname)")
    sizes = {}
    for name in names:
        if name.endswith(".js"):
            request = urllib.request.Request(hub.url + name, headers={"Accept-Encoding": "gzip"})
            with urllib.request.urlopen(request) as response:
                assert response.headers["Content-Encoding"] == "gzip"
                sizes[name] = len(response.read())
    assert 0 < sum(sizes.values()) < 40_000, sizes  # without the plots, which only a job's page loads


def test_themes_follow_the_system_until_somebody_chooses(open_page, hub, jobs):
    page = open_page(hub, colorScheme="dark")
    page.wait_for(".table")
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.press("t")  # light
    page.wait_for("role=button[name='Theme: light']")
    assert page.evaluate(ground) != dark
    page.reload()
    page.wait_for("role=button[name='Theme: light']")
    assert page.evaluate(ground) != dark


def test_a_question_mark_shows_the_keys(page):
    page.wait_for(".table")
    page.press("?")
    page.wait_for("dialog[open] >> text=search")
    page.press("Escape")
    page.wait_for("dialog", "detached")


def test_an_address_that_does_not_exist_says_so(open_page, hub, jobs):
    page = open_page(hub, "/nowhere")
    page.wait_for("text=There is no such page")


@pytest.mark.may_complain("ERR_")
def test_a_lost_connection_is_said_and_what_is_there_stays_and_catches_up(open_page, new_hub):
    hub = new_hub()
    first = hub.submit(name="before", command=["true"], needs={"threads_per_rank": 1})
    hub.wait(first)
    page = open_page(hub)
    page.wait_for(f"a[href='/jobs/{first}']")
    page.wait_for("text=live")
    hub.kill()
    page.wait_for("text=connection lost")
    assert page.count(f"a[href='/jobs/{first}']") == 1
    hub.start()
    second = hub.submit(name="after", command=["true"], needs={"threads_per_rank": 1})
    page.wait_for("text=live")
    page.wait_for(f"a[href='/jobs/{second}']")
    assert page.count(f"a[href='/jobs/{first}']") == 1


PAGES = ["jobs", "filtered", "trained", "walker", "waiting", "sites", "token", "missing"]
LOOKS = {
    "light": {},
    "dark": {"colorScheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "isMobile": True, "hasTouch": True},
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_barrier(open_page, hub, jobs, name, look):
    paths = {"jobs": "/", "filtered": "/?text=none", "sites": "/sites", "token": "/", "missing": "/nowhere",
             "trained": f"/jobs/{jobs.trained}", "walker": f"/jobs/{jobs.walker}?y=log", "waiting": f"/jobs/{jobs.waiting}"}
    shown = {"jobs": ".table", "filtered": "text=No job matches", "sites": ".places", "token": "#token",
             "missing": "text=no such page", "trained": ".rank-list li", "walker": ".plot canvas", "waiting": ".places"}
    page = open_page(hub, paths[name], token=name != "token", **LOOKS[look])
    page.wait_for(shown[name], "attached")
    assert page.accessibility() == []
    # Nothing is wider than the page.
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), name


def test_help_and_questions_have_no_barrier(open_page, hub, jobs):
    page = open_page(hub, f"/jobs/{jobs.walker}")
    page.click("role=button[name='Cancel']")
    page.wait_for("dialog[open]")
    assert page.accessibility() == []
    page.press("Escape")
    page.wait_for("dialog", "detached")
    page.press("?")
    page.wait_for("dialog[open]")
    assert page.accessibility() == []
