# SPDX-License-Identifier: Apache-2.0
"""Ten thousand jobs: only what is seen is loaded and drawn, and nobody waits."""

import pytest

COUNT = 10_000


@pytest.fixture(scope="module")
def crowded(new_hub):
    hub = new_hub()
    hub.submit(name="crowd", command=["true"], needs={"nodes": 99}, count=COUNT)
    return hub


def test_only_rows_in_sight_are_drawn_and_only_the_first_are_loaded(open_page, crowded):
    page = open_page(crowded)
    page.wait_for(f"a[href='/jobs/crowd-{COUNT}']")
    assert page.text("role=button[name=/^all/]").replace("\u202f", "") == f"all {COUNT}"
    assert page.count(".row") < 80
    asked = page.evaluate("() => performance.getEntriesByType('resource').filter((e) => e.name.includes('/v1/jobs?')).length")
    assert asked <= 2


def test_the_last_row_is_reached_by_scrolling(open_page, crowded):
    page = open_page(crowded)
    page.wait_for(f"a[href='/jobs/crowd-{COUNT}']")
    page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for("a[href='/jobs/crowd-1']")
    assert page.count(".row") < 80


def test_a_row_far_down_is_found_again_after_looking_at_its_job(open_page, crowded):
    page = open_page(crowded)
    page.wait_for(f"a[href='/jobs/crowd-{COUNT}']")
    page.evaluate("() => scrollTo(0, 36 * 3000)")
    page.wait_for("a[href='/jobs/crowd-6995']")
    page.click("a[href='/jobs/crowd-6995']")
    page.wait_for("h1:has-text('crowd-6995')")
    page.back()
    page.wait_for("a[href='/jobs/crowd-6995']")
    assert page.evaluate("() => scrollY") == 36 * 3000


def best_of(times, measure):
    """The machine that runs tests is busy with others: the best of some."""
    return min(measure() for _ in range(times))


def test_the_first_paint_takes_less_than_a_second(open_page, crowded):
    page = open_page(crowded)

    def measure():
        page.reload()
        page.wait_for(".row .c-name a")
        return page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")

    assert best_of(5, measure) < 1000


def test_a_click_on_a_filter_is_answered_within_a_tenth_of_a_second(open_page, crowded):
    page = open_page(crowded)
    page.wait_for(f"a[href='/jobs/crowd-{COUNT}']")
    click = """() => new Promise((done) => {
      const begun = performance.now();
      const shown = () => document.querySelector('.chip[aria-pressed=true]').innerText.startsWith('waiting') === goal;
      const goal = !document.querySelector('.chip[aria-pressed=true]').innerText.startsWith('waiting');
      [...document.querySelectorAll('.chip')].find((chip) => chip.innerText.startsWith('waiting')).click();
      const look = () => (shown() ? done(performance.now() - begun) : requestAnimationFrame(look));
      look();
    })"""
    assert best_of(8, lambda: page.evaluate(click)) < 100
