// SPDX-License-Identifier: Apache-2.0
// A browser that Python drives: one JSON line in, one out. browser.py is its other half.
//
// Every page keeps what it must not do: words in the console, errors, and requests to any other address.
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const patience = 20_000;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: process.env.LONGSHIP_CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
const pages = new Map();
let made = 0;

const does = {
  async open({ options }) {
    const context = await browser.newContext({
      viewport: { width: 1360, height: 860 },
      colorScheme: "light",
      acceptDownloads: true,
      permissions: ["clipboard-read", "clipboard-write"],
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    const problems = [];
    page.on("console", (message) => problems.push(`console, ${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.hostname !== "127.0.0.1" && url.protocol !== "blob:" && url.protocol !== "data:")
        problems.push(`a request to ${url}`);
    });
    pages.set(++made, { context, page, problems });
    return made;
  },
  close: ({ on }) => pages.get(on).context.close(),
  problems: ({ on }) => pages.get(on).problems.splice(0),
  async page({ on, method, words }) {
    const result = await pages.get(on).page[method](...words);
    return typeof result === "string" || typeof result === "boolean" || typeof result === "number" ? result : null;
  },
  press: ({ on, key }) => pages.get(on).page.keyboard.press(key),
  // From outside, as a debugger does: the page's own policy allows no code from strings, as it should.
  evaluate: ({ on, code, argument }) => pages.get(on).page.evaluate(`(${code})(${JSON.stringify(argument ?? null)})`),
  async wait({ on, code, argument }) {
    const { page } = pages.get(on);
    const deadline = Date.now() + patience;
    while (!(await page.evaluate(`(${code})(${JSON.stringify(argument ?? null)})`))) {
      if (Date.now() > deadline) throw new Error(`waited ${patience} ms in vain for ${code}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return true;
  },
  locate: async ({ on, selector, method, words }) =>
    (await pages
      .get(on)
      .page.locator(selector)
      [method](...words)) ?? null,
  async download({ on, selector }) {
    const { page } = pages.get(on);
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(selector).click()]);
    return { name: download.suggestedFilename(), base64: readFileSync(await download.path()).toString("base64") };
  },
  // What a screen reader or somebody with weak eyes would stumble over, as lines.
  async accessibility({ on }) {
    const { context, page } = pages.get(on);
    const session = await context.newCDPSession(page);
    await session.send("Runtime.evaluate", { expression: axe });
    const { result } = await session.send("Runtime.evaluate", {
      expression: "axe.run().then((found) => JSON.stringify(found.violations))",
      awaitPromise: true,
    });
    await session.detach();
    return JSON.parse(result.value).flatMap(({ id, help, nodes }) =>
      nodes.map(
        (node) => `${id}: ${help}: ${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1).join(" ")}`,
      ),
    );
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { action, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = { result: (await does[action](rest)) ?? null };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
