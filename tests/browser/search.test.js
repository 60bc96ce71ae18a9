// The page of a search in a real browser: one request, no error, figures as --json has them, a filter that filters and
// points that lead to their line. Reads LUMOS, CHROMIUM and SCREENSHOTS as report.test.js does.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const lumos = process.env.LUMOS ?? "build/lumos";
const folder = mkdtempSync(path.join(tmpdir(), "lumos-search-page-"));
const file = path.join(folder, "search.html");
const answer = JSON.parse(
  execFileSync(
    lumos,
    ["search", "--job", "gpt3-15b", "--cluster", "dgx-h100", "--gpus", "32", "--set", "global_batch_size=64", "--top", "0",
      "--json", "--report", file],
    { maxBuffer: 1 << 28, encoding: "utf8" },
  ),
);

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") seen.errors.push(message.text());
  });
  await page.goto(pathToFileURL(file).href);
  return { page, seen };
}

describe("the page of a search", () => {
  test("asks for nothing, complains about nothing and shows what --json says", async () => {
    const { page, seen } = await open();
    assert.equal(seen.requests.length, 1);
    assert.deepEqual(seen.errors, []);
    const steps = await page.$$eval("#configurations tbody tr", (rows) =>
      rows.map((row) => Number(row.querySelector("data").value)));
    // The best 500, and of the rest what is on the front.
    const listed = answer.configurations.filter((each, i) => i < 500 || each.on_front);
    assert.equal(steps.length, listed.length);
    steps.forEach((step, i) => {
      const said = listed[i].result.step_ms;
      assert.ok(Math.abs(step - said) <= 1e-5, `line ${i}: ${step} and ${said}`);
    });
  });

  test("filters by words and goes from a point to its line", async () => {
    const { page } = await open();
    const visible = () => page.$$eval("#configurations tbody tr", (rows) => rows.filter((row) => !row.hidden).length);
    const all = await visible();
    await page.fill("#filter", "front do");
    const some = await visible();
    assert.ok(some > 0 && some < all, `${some} of ${all}`);
    const target = await page.$eval("#front a", (link) => link.getAttribute("href"));
    await page.focus("#front a");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => location.hash), target);
    assert.equal(await visible(), all);
    assert.ok(await page.$(target));
  });

  test("can be read without script, in the dark and on a narrow screen", async () => {
    const { page, seen } = await open({ javaScriptEnabled: false, colorScheme: "dark", viewport: { width: 400, height: 800 } });
    assert.deepEqual(seen.errors, []);
    assert.ok((await page.locator("#configurations tbody tr").count()) > 0);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth).catch(() => 0);
    assert.ok(overflow <= 0, `${overflow} px too wide`);
    if (process.env.SCREENSHOTS) {
      mkdirSync(process.env.SCREENSHOTS, { recursive: true });
      await page.screenshot({ path: path.join(process.env.SCREENSHOTS, "search-dark-400.png"), fullPage: true });
    }
  });
});
