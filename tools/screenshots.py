#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/portal-*.png: a hub is started, jobs run, and Chromium looks at them.

    tools/screenshots.py [DIRECTORY]

Uses what tests/portal uses, so that pictures cannot show what was not tested.
"""
import contextlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "portal"))

from conftest import Jobs, system  # noqa: E402
from browser import Browser  # noqa: E402
from hub_lab import HubLab  # noqa: E402

LIGHT = {"viewport": {"width": 1280, "height": 440}}
DARK = LIGHT | {"colorScheme": "dark"}
PHONE = {"viewport": {"width": 390, "height": 500}, "isMobile": True, "hasTouch": True, "deviceScaleFactor": 2}


def draw(browser, hub, jobs, into):
    # name, look, path, what has to be there, the whole page?
    pictures = [
        ("jobs", LIGHT, "/", ".sparkline path", False),
        ("job", LIGHT, f"/jobs/{jobs.trained}", ".plot canvas", True),
        ("job-dark", DARK, f"/jobs/{jobs.walker}?y=log", ".plot canvas", True),
        ("sites", LIGHT, "/sites", ".places li", False),
        ("phone", PHONE, "/", ".sparkline path", False),
    ]
    for name, look, path, shown, whole in pictures:
        page = browser.open(hub.url, **look).go(f"{path}#token={hub.token}")
        page.wait_for(shown, "attached")
        page.wait_for("text=live")
        time.sleep(1.5)  # the last curves and bars
        page.screenshot(into / f"portal-{name}.png", whole)
        page.close()
        print(into / f"portal-{name}.png")


def main():
    into = Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "docs" / "pictures")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="longship-pictures-") as place:
        place = Path(place)
        (place / "home").mkdir()
        longship = system.Longship(system.clean_environment(place / "home"), place)
        longship.environment["LONGSHIP_TEST_MARK"] = str(place)
        hub = HubLab(longship, place / "hub").start()
        browser = Browser()
        try:
            (place / "jobs").mkdir()
            draw(browser, hub, Jobs(hub, place / "jobs"), into)
        finally:
            browser.close()
            hub.stop()
            longship.close()
            for line in system.marked_processes(f"LONGSHIP_TEST_MARK={place}"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(line.split()[0]), signal.SIGKILL)


if __name__ == "__main__":
    main()
