# SPDX-License-Identifier: Apache-2.0
"""Chromium for tests: bridge.mjs drives it with playwright-core, this talks to bridge.mjs."""

import base64
import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Trouble(AssertionError):
    """What the browser could not do: an element that did not appear, say."""


class Browser:
    def __init__(self):
        self.process = subprocess.Popen(["node", HERE / "bridge.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=HERE)

    def ask(self, action, **words):
        self.process.stdin.write(json.dumps({"action": action, **words}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Trouble(f"the browser has ended: {self.process.stderr.read()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Trouble(answer["error"])
        return answer["result"]

    def open(self, address, **options):
        return Page(self, self.ask("open", options=options), address)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait(timeout=30)


class Page:
    """One tab with storage of its own. Selectors are playwright's: "text=…", "role=button[name=…]", CSS."""

    def __init__(self, browser, number, address):
        self.browser = browser
        self.number = number
        self.address = address  # of the hub, without a slash at its end

    def ask(self, action, **words):
        return self.browser.ask(action, on=self.number, **words)

    def go(self, path):
        self.ask("page", method="goto", words=[self.address + path])
        return self

    def reload(self):
        self.ask("page", method="reload", words=[])

    def back(self):
        self.ask("page", method="goBack", words=[])

    def where(self):
        return self.ask("page", method="url", words=[]).removeprefix(self.address)

    def title(self):
        return self.ask("page", method="title", words=[])

    def press(self, *keys):
        for key in keys:
            self.ask("press", key=key)

    def locate(self, selector, method, *words):
        return self.ask("locate", selector=selector, method=method, words=list(words))

    def click(self, selector):
        self.locate(selector, "click")

    def fill(self, selector, text):
        self.locate(selector, "fill", text)

    def choose(self, selector, value):
        self.locate(selector, "selectOption", value)

    def wait_for(self, selector, state="visible"):
        self.locate(f"{selector} >> nth=0", "waitFor", {"state": state})

    def text(self, selector):
        return self.locate(f"{selector} >> nth=0", "innerText")

    def texts(self, selector):
        return self.locate(selector, "allInnerTexts")

    def attribute(self, selector, name):
        return self.locate(f"{selector} >> nth=0", "getAttribute", name)

    def count(self, selector):
        return self.locate(selector, "count")

    def evaluate(self, code, argument=None):
        return self.ask("evaluate", code=code, argument=argument)

    def wait_until(self, code, argument=None):
        return self.ask("wait", code=code, argument=argument)

    def download(self, selector):
        found = self.ask("download", selector=selector)
        return found["name"], base64.b64decode(found["base64"])

    def screenshot(self, path, whole=False):
        self.ask("page", method="screenshot", words=[{"path": str(path), "fullPage": whole}])

    def problems(self):
        return self.ask("problems")

    def accessibility(self):
        return self.ask("accessibility")

    def close(self):
        self.ask("close")
