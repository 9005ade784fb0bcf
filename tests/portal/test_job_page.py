# SPDX-License-Identifier: Apache-2.0
"""One job: is it going well?"""

import tomllib

import pytest


@pytest.fixture
def open_job(open_page, hub, jobs):
    def open_one(job, query="", **options):
        page = open_page(hub, f"/jobs/{job}{query}", **options)
        page.wait_for(f"h1:has-text('{job}')")
        page.wait_for(".facts")
        return page

    return open_one


def fact(page, name):
    return page.text(f".facts div:has(dt:text-is('{name}')) dd").replace("\u202f", " ")


def test_the_head_tells_state_place_size_and_code(open_job, jobs, hub):
    page = open_job(jobs.trained)
    assert page.text(".title .state") == "finished"
    assert fact(page, "Site").startswith("here")
    assert fact(page, "Size") == "2 ranks on 1 node"
    assert fact(page, "Exit code") == "0"
    assert fact(page, "Progress").startswith("12/12")
    assert "of 1 h 00 min" in fact(page, "Ran for")
    digest = hub.job(jobs.trained)["code"]["digest"].removeprefix("sha256:")
    assert fact(page, "Code").startswith(digest[:12])
    assert page.title() == f"{jobs.trained} finished · Longship"


def test_curves_are_drawn_with_axes_and_told_to_screen_readers(open_job, jobs):
    page = open_job(jobs.trained)
    page.wait_for(".plot canvas", "attached")
    assert sorted(page.texts(".plot figcaption strong")) == ["loss", "samples/s"]
    assert page.attribute(".plot .canvas", "aria-label").startswith("loss from ")
    drawn = """() => { const c = document.querySelector('.plot canvas');
               const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return data.some((v) => v > 0); }"""
    assert page.evaluate(drawn)


def test_the_logarithm_is_a_key_away_and_in_the_address(open_job, jobs):
    page = open_job(jobs.trained)
    page.wait_for(".plot canvas", "attached")
    page.press("l")
    page.wait_for("role=button[name='log'][pressed]")
    assert page.where() == f"/jobs/{jobs.trained}?y=log"
    page.press("x")
    page.wait_for("role=button[name='over time'][pressed]")
    page.reload()
    page.wait_for("role=button[name='log'][pressed]")
    page.wait_for("role=button[name='over time'][pressed]")


def test_the_crosshair_of_one_plot_is_the_crosshair_of_all(open_job, jobs):
    page = open_job(jobs.trained)
    page.wait_for(".plot >> nth=1 >> canvas", "attached")
    page.locate(".plot >> nth=0 >> .u-over", "hover")
    page.wait_until("() => [...document.querySelectorAll('.u-legend')].every((l) => !l.innerText.includes('–'))")
    first, second = page.texts(".u-legend .u-series:first-child .u-value")
    assert first == second


def test_a_curve_is_downloaded_as_png_and_as_csv(open_job, jobs):
    page = open_job(jobs.trained)
    page.wait_for(".plot canvas", "attached")
    name, image = page.download("role=button[name='loss as PNG']")
    assert name == f"{jobs.trained}.1-loss.png"
    assert image.startswith(b"\x89PNG")
    name, table = page.download("role=button[name='samples/s as CSV']")
    assert name == f"{jobs.trained}.1-samples-s.csv"
    lines = table.decode().splitlines()
    assert lines[0] == 'step,seconds,"samples/s"'
    assert len(lines) == 13


def test_time_per_rank_is_stacked_and_adds_up(open_job, jobs):
    page = open_job(jobs.trained)
    page.wait_for(".rank-list li")
    assert page.count(".rank-list li") == 2
    shares = [int("".join(c for c in text if c.isdigit())) for text in page.texts(".legend strong")]
    assert 97 <= sum(shares) <= 104
    assert "compute" in page.attribute(".stack", "aria-label")
    assert page.count(".rank-list li.slowest") == 1
    assert "arrived last" in page.text(".ranks")


def test_a_running_job_goes_on_without_a_reload(open_job, jobs):
    page = open_job(jobs.walker)
    before = fact(page, "Progress")
    page.wait_until("(before) => !document.querySelector('.facts dd').innerText.replaceAll('\\u202f', ' ').startsWith(before)",
                    before.split("/")[0] + "/")
    assert fact(page, "Expected end").startswith("in ")
    page.wait_for(".plot canvas", "attached")


def test_the_log_is_followed(open_job, jobs):
    page = open_job(jobs.walker)
    page.wait_for(".log-view pre div")
    last = page.texts(".log-view pre div")[-1].strip()
    page.wait_until("(last) => ![...document.querySelectorAll('.log-view pre div')].at(-1).innerText.includes(last)", last)


def asked_for_log(page):
    return page.evaluate("() => performance.getEntriesByType('resource').filter((e) => e.name.includes('/log?')).length")


def test_only_the_end_of_a_long_log_is_loaded_and_search_finds_what_is_far_away(open_job, jobs):
    page = open_job(jobs.talker)
    page.wait_for("text=line 059999")
    assert asked_for_log(page) <= 3
    assert page.count(".log-view pre div") < 100
    page.press("/")
    page.fill("#search", "needle")
    page.press("Enter")
    page.wait_for(".log-view .hit mark")
    assert "the needle is here" in page.text(".log-view .hit")
    page.click("role=button[name='End']")
    page.wait_for("text=line 059999")


def test_the_log_can_be_read_from_its_start(open_job, jobs):
    page = open_job(jobs.talker)
    page.wait_for("text=line 059999")
    page.click("role=button[name='Start']")
    page.wait_for("text=line 000000")
    height = page.evaluate("() => { const v = document.querySelector('.log-view'); return (v.scrollTop = v.scrollHeight); }")
    page.wait_until("(before) => document.querySelector('.log-view').scrollHeight > before", height)  # the next part


def test_rank_and_stream_of_the_log_are_in_the_address(open_job, jobs):
    page = open_job(jobs.failed)
    page.click("role=button[name='err']")
    page.wait_for("text=no such luck")
    assert page.where() == f"/jobs/{jobs.failed}?stream=err"
    page = open_job(jobs.trained, "?rank=1")
    assert page.evaluate("() => document.querySelector('.rank-choice select').value") == "1"
    page.choose(".rank-choice select", "0")
    page.wait_for("text=accuracy 0.")
    assert page.where() == f"/jobs/{jobs.trained}"


def test_files_that_were_kept_are_downloaded_whole(open_job, jobs, hub):
    page = open_job(jobs.trained)
    name, content = page.download("role=button[name=/^Download model.pt/]")
    assert name == "model.pt"
    assert content == hub.request("GET", f"/v1/jobs/{jobs.trained}/files/model.pt")[1]


def test_the_command_to_repeat_a_job_repeats_it(open_job, jobs, hub, tmp_path):
    page = open_job(jobs.failed)
    command = page.evaluate("() => document.querySelector('#repeat').parentElement.querySelector('pre').innerText")
    text = command.split("<<'END'\n", 1)[1].split("END\n", 1)[0]
    assert tomllib.loads(text)["name"] == "failing"
    assert command.endswith(f"longship submit {jobs.failed}.toml")
    (tmp_path / "again.toml").write_text(text)
    done = hub.longship("submit", tmp_path / "again.toml", "--wait")
    assert done.returncode == 1, done.stderr  # it fails again, as it did


def test_a_waiting_job_shows_what_each_site_says(open_job, jobs):
    page = open_job(jobs.waiting)
    page.wait_for(".places li")
    assert "does not fit" in page.text(".places li")
    assert "here" in page.text(".places li")


def test_cancelling_asks_first(open_job, jobs, hub):
    job = hub.submit(name="sleeper", command=["sleep", "600"], needs={"threads_per_rank": 1})
    hub.wait(job, "running")
    page = open_job(job)
    page.click("role=button[name='Cancel']")
    page.wait_for("dialog[open]")
    page.press("Escape")
    page.wait_for("dialog[open]", "detached")
    assert hub.job(job)["state"] == "running"
    page.click("role=button[name='Cancel']")
    page.click(f"role=button[name='Cancel {job}']")
    page.wait_for(".title .is-cancelled")
    assert hub.job(job)["state"] == "cancelled"


def test_a_waiting_job_is_held_and_released(open_job, jobs, hub):
    job = hub.submit(name="patient", command=["true"], needs={"nodes": 99})
    page = open_job(job)
    page.click("role=button[name='Hold']")
    page.click(f"role=button[name='Hold {job}']")
    page.wait_for(".title .is-held")
    page.click("role=button[name='Release']")
    page.click(f"role=button[name='Release {job}']")
    page.wait_for(".title .is-waiting")
    assert "released" in page.text(".events") or "held" in page.text(".events")
    hub.request("POST", f"/v1/jobs/{job}/cancel")


def test_a_retry_is_a_second_attempt_beside_the_first(open_job, jobs, hub):
    job = jobs.submit("stumbling", "raise SystemExit(3)")
    hub.wait(job, "failed")
    page = open_job(job)
    page.click("role=button[name='Retry']")
    page.click(f"role=button[name='Retry {job}']")
    page.wait_for(".attempts li >> nth=1")
    hub.wait(job, "failed")
    page.click(".attempts li >> nth=0 >> .attempt")
    assert page.where() == f"/jobs/{job}?attempt=1"


@pytest.mark.may_complain("404")
def test_a_job_that_does_not_exist_is_answered_with_a_sentence(open_page, hub, jobs):
    page = open_page(hub, "/jobs/nothing-1")
    page.wait_for("role=alert")
    assert "nothing-1" in page.text("role=alert")
    page.click("text=in the table")
    page.wait_for(".table")
