# SPDX-License-Identifier: Apache-2.0
"""Studies: is the search getting anywhere? The same plots as in the file that `longship study plot` writes."""

import json

import pytest

STUDY = """version = 1
name = "bowl"
command = ["true"]
sampler = "sobol"
[[objective]]
metric = "loss"
[[objective]]
metric = "speed"
direction = "maximize"
[space]
x = { low = 1e-3, high = 1.0, log = true }
net = ["a", "b"]
depth = { low = 1, high = 4, when = { net = "b" } }
"""


@pytest.fixture(scope="module")
def study_hub(new_hub):
    """A hub that was shown a study: told by hand, with an infinite value and a failed trial."""
    hub = new_hub()
    folder = hub.directory.parent
    (folder / "study.toml").write_text(STUDY)
    told = hub.longship("--json", "study", "ask", "study.toml", "-n", 16)
    assert told.returncode == 0, told.stderr
    for trial in json.loads(told.stdout)["trials"]:
        x, number = trial["values"]["x"], trial["trial"]
        words = ["--failed"] if number == 3 else ["--value", "inf" if number == 5 else x, "--value", 1 / x]
        steps = [word for step in range(1, 4) for word in ("--report", f"{step}={x / step}")]
        done = hub.longship("study", "tell", "study.toml", number, *steps, *words)
        assert done.returncode == 0, done.stderr
    exported = hub.longship("study", "export", "study.toml", "--format", "json").stdout
    assert hub.request("PUT", "/v1/studies/bowl", exported.encode())[0] == 201
    return hub


def test_a_study_is_listed_and_opens_with_all_its_pictures(open_page, study_hub):
    page = open_page(study_hub, "/studies")
    page.wait_for("tbody a:has-text('bowl')")
    assert page.accessibility() == []
    assert page.texts("tbody td")[1:3] == ["minimize loss, maximize speed", "15 complete, 1 failed"]
    page.click("tbody a")
    page.wait_for(".plots svg")
    assert page.texts(".plots h2") == ["History of loss", "Importance of loss", "History of speed", "Importance of speed",
                                       "Pareto front", "Curves", "Parallel coordinates", "Slices"]
    assert page.count(".slices svg") == 3
    assert page.count(".thread") == 15
    assert page.accessibility() == []


def test_pointing_at_a_trial_marks_it_everywhere(open_page, study_hub):
    page = open_page(study_hub, "/studies")
    page.click("tbody a")
    page.wait_for(".plots svg")
    page.evaluate("() => document.querySelector('.thread[data-trial=\"7\"]').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))")
    assert page.count(".hot") == page.count("[data-trial='7']") > 4


def test_without_studies_the_page_says_how_to_begin_one(open_page, new_hub):
    page = open_page(new_hub(), "/studies")
    page.wait_for("text=longship study run study.toml --submit")
