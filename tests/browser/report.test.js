// The HTML report in a real browser: one request, no error, numbers as --json has them, and the lanes answer to mouse
// and keyboard. Reads LUMOS (the program), CHROMIUM, LUMOS_DATA (public traces; absent ones are skipped) and SCREENSHOTS
// (a folder for pictures of every page, to be looked at).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const lumos = process.env.LUMOS ?? "build/lumos";
const data = process.env.LUMOS_DATA ?? "../shared";
const folder = mkdtempSync(path.join(tmpdir(), "lumos-browser-"));
const MOST_BYTES = 5_000_000;

const run = (...words) => execFileSync(lumos, words, { maxBuffer: 1 << 28, encoding: "utf8" });

const demo = path.join(folder, "demo.json");
run("demo", "--out", demo);
const CASES = [
  { name: "demo", paths: [demo] },
  { name: "eight-ranks", paths: [path.join(data, "traces/dlrm-8rank-v100")] },
  { name: "sixteen-ranks", paths: [path.join(data, "vcluster/15b-2x2x4")], predict: ["data_parallel_size=8"] },
  { name: "no-collectives", paths: [path.join(data, "traces/h100/bert-small.json.gz")] },
  { name: "no-steps", paths: [path.join(data, "traces/streams/blocking.json.gz")] },
  { name: "no-gpu", paths: [path.join(data, "traces/odd/cpu-only.json.gz")] },
];

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Opens a file and keeps what the browser asked for and complained about. */
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") seen.errors.push(message.text());
  });
  await page.goto(pathToFileURL(file).href);
  return { page, seen, context };
}

/** The exact numbers behind the cells of the line that a table begins with `name`. */
const rowValues = (page, section, name) =>
  page.$$eval(`#${section} tr`, (rows, wanted) => {
    const row = rows.find((each) => each.querySelector("th")?.textContent === wanted);
    return [...row.querySelectorAll("data")].map((cell) => Number(cell.value));
  }, name);

/** What "lumos predict --json" says of the traced job with `settings` changed, in a file. */
function predictionOf(name, paths, settings) {
  const file = path.join(folder, `${name}.prediction.json`);
  const job = path.join(paths[0], "config.json");
  writeFileSync(file, run("predict", ...paths, "--job", job, ...settings.flatMap((each) => ["--set", each]), "--json"));
  return file;
}

const hasCharts = (page) => page.evaluate(() => document.querySelector(".live-chart") !== null);

for (const { name, paths, predict } of CASES) {
  const skip = paths.every((each) => existsSync(each)) ? false : `no ${paths.join(", ")}; set LUMOS_DATA`;
  describe(name, { skip }, () => {
    const file = path.join(folder, `${name}.html`);
    let prediction;
    before(() => {
      if (predict) prediction = predictionOf(name, paths, predict);
      run("report", ...paths, "--out", file, ...(prediction ? ["--against", prediction] : []));
    });

    test("is one small file that asks for nothing else", async () => {
      assert.ok(statSync(file).size < MOST_BYTES, `${statSync(file).size} bytes`);
      const { page, seen, context } = await open(file);
      await page.waitForTimeout(100);
      assert.deepEqual(seen.requests, [pathToFileURL(file).href]);
      assert.deepEqual(seen.errors, []);
      await context.close();
    });

    test("shows the numbers of --json", async () => {
      const replay = JSON.parse(run("replay", ...paths, "--json"));
      const { page, context } = await open(file);
      for (const which of ["measured", "replayed"]) {
        const breakdown = replay.breakdown[which];
        assert.deepEqual(await rowValues(page, "breakdown", which),
          [breakdown.exposed_compute_ms, breakdown.overlapped_ms, breakdown.exposed_comm_ms, breakdown.other_ms,
            replay[`${which}_ms`]]);
      }
      if (prediction) {
        const { predicted } = JSON.parse(readFileSync(prediction, "utf8"));
        const parts = predicted.breakdown;
        assert.deepEqual(await rowValues(page, "breakdown", "predicted"),
          [parts.exposed_compute_ms, parts.overlapped_ms, parts.exposed_comm_ms, parts.other_ms, predicted.step_ms]);
      }
      const { gains } = JSON.parse(run("gains", ...paths, "--json"));
      const gainRows = await page.$$eval("#gains tbody tr", (rows) =>
        rows.map((row) => [...row.querySelectorAll("data")].slice(2, 5).map((cell) => Number(cell.value))));
      assert.deepEqual(gainRows, gains.slice(0, gainRows.length).map((gain) =>
        [gain.gain_10_percent_ms, gain.gain_2x_ms, gain.gain_free_ms]));
      const rank = replay.ranks[0];
      const trust = await rowValues(page, "trust", `rank ${rank.rank}`);
      assert.deepEqual(trust.slice(0, 2), [rank.error_pct, rank.kernel_start_mae_us]);
      const critical = JSON.parse(run("critical-path", ...paths, "--json"));
      const shown = await page.$$eval("#critical-path table:first-of-type tbody", ([body]) =>
        [...body.rows].map((row) => Number(row.querySelector("data").value)));
      assert.deepEqual(shown.map((ms) => Math.round(ms * 1e6)), critical.by_cause.map((share) => share.time_ns));
      await context.close();
    });

    test("reads without script", async () => {
      const { page, context } = await open(file, { javaScriptEnabled: false });
      assert.ok(await page.isVisible("#breakdown table"));
      assert.ok(await page.isVisible("#breakdown svg rect"));
      if (name !== "no-gpu") assert.ok(await page.isVisible("#lanes .lane svg"));
      await context.close();
    });

    test("fits a phone, and the dark", async () => {
      for (const [width, colorScheme] of [[1280, "light"], [400, "light"], [1280, "dark"], [400, "dark"]]) {
        const { page, context } = await open(file, { viewport: { width, height: 900 }, colorScheme });
        assert.ok(await page.evaluate(() => document.scrollingElement.scrollWidth <= window.innerWidth), `${width} px`);
        const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(ground === "rgb(255, 255, 255)", colorScheme === "light");
        if (process.env.SCREENSHOTS) {
          mkdirSync(process.env.SCREENSHOTS, { recursive: true });
          await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}-${width}-${colorScheme}.png`), fullPage: true });
        }
        await context.close();
      }
    });

    test("has charts that hold the numbers and answer to mouse and keyboard", async (t) => {
      const { page, seen, context } = await open(file);
      if (!(await hasCharts(page))) {
        t.skip("this build has no ECharts");
        await context.close();
        return;
      }
      const replay = JSON.parse(run("replay", ...paths, "--json"));
      const bars = await page.$eval("#breakdown .live-chart", (place) =>
        place.lumosChart.getOption().series.map((part) => part.data));
      const parts = ["exposed_compute_ms", "overlapped_ms", "exposed_comm_ms", "other_ms"];
      assert.deepEqual(bars.map((part) => part.slice(0, 2)),
        parts.map((part) => [replay.breakdown.measured[part], replay.breakdown.replayed[part]]));

      const chart = await page.$("#utilisation .live-chart");
      if (chart) {
        await chart.scrollIntoViewIfNeeded();
        const box = await chart.boundingBox();
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 3);
        await page.waitForTimeout(100);
        assert.match(await page.$eval("#utilisation .live-chart", (place) => place.textContent), /measured: [\d.]+ %/);
        const zoom = () => chart.evaluate((place) => {
          const { start, end } = place.lumosChart.getOption().dataZoom[0];
          return [start, end];
        });
        await chart.focus();
        await page.keyboard.press("+");
        assert.deepEqual(await zoom(), [25, 75]);
        await page.keyboard.press("ArrowRight");
        assert.deepEqual(await zoom(), [37.5, 87.5]);
        await page.keyboard.press("0");
        assert.deepEqual(await zoom(), [0, 100]);
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -300);
        await page.keyboard.up("Control");
        await page.waitForTimeout(200);
        const [start, end] = await zoom();
        assert.ok(end - start < 100);
      }
      assert.deepEqual(seen.errors, []);
      await context.close();
    });

    test("shows the schedule of a pipeline", { skip: name !== "sixteen-ranks" && "no pipeline" }, async () => {
      const { page, context } = await open(file);
      const passes = await page.evaluate(() => {
        const { texts, lanes } = JSON.parse(document.getElementById("lane-data").textContent);
        const [first, last] = [0, 8].map((rank) => lanes.find((lane) => lane.rank === rank && lane.label === "schedule"));
        return [first, last].map(({ boxes }) => boxes.filter((_, i) => i % 6 === 3).map((name) => texts[name]));
      });
      // One forward, one backward: the last stage from the start, the first one after its warm-up.
      const words = (letters) => letters.split(" ").map((pass) =>
        `${pass[0] === "F" ? "forward" : "backward"} of micro-batch ${pass.slice(1)}`);
      assert.deepEqual(passes[0].slice(0, 6), words("F0 F1 B0 F2 B1 F3"));
      assert.deepEqual(passes[1].slice(0, 6), words("F0 B0 F1 B1 F2 B2"));
      await context.close();
    });

    test("is reachable by keyboard, in the order of the page", async () => {
      const { page, context } = await open(file);
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
      // Whatever scrolls or answers to the pointer takes part in tabbing, and shows that it has the focus.
      const unreachable = await page.$$eval(".table, .live-chart[role=group], #lane-view, summary, button", (all) =>
        all.filter((each) => each.matches(".zooms .live-chart, .table, #lane-view") && each.tabIndex < 0).length);
      assert.equal(unreachable, 0);
      await page.keyboard.press("Tab");
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.notEqual(outline, "none");
      await context.close();
    });

    test("lets people look into the lanes", { skip: name === "no-gpu" && "no stream" }, async () => {
      const { page, seen, context } = await open(file);
      const axis = () => page.textContent("#lane-axis span:last-child");
      const detail = () => page.textContent("#lane-detail");
      const whole = await axis();
      await page.click("button[aria-label='zoom in']");
      await page.waitForFunction((old) => document.querySelector("#lane-axis span:last-child").textContent !== old, whole);
      await page.click("button[aria-label='show the whole step']");
      await page.waitForFunction((old) => document.querySelector("#lane-axis span:last-child").textContent === old, whole);

      await page.focus("#lane-view");
      await page.keyboard.press("ArrowRight");
      if (/^(forward|backward)/.test(await detail())) await page.keyboard.press("ArrowDown"); // off the schedule
      const first = await detail();
      assert.match(first, /waited for /);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      assert.notEqual(await detail(), first);
      await page.keyboard.press("+");
      await page.waitForFunction((old) => document.querySelector("#lane-axis span:last-child").textContent !== old, whole);
      await page.keyboard.press("0");

      // From left to right over the lanes until a box is under the pointer.
      const before = await detail();
      for (const canvas of await page.$$("#lanes canvas")) {
        await canvas.scrollIntoViewIfNeeded();
        const box = await canvas.boundingBox();
        for (let i = 1; i < 20 && (await detail()) === before; ++i) {
          await page.mouse.move(box.x + (box.width * i) / 20, box.y + box.height / 2);
        }
        if ((await detail()) !== before) break;
      }
      assert.notEqual(await detail(), before);
      assert.deepEqual(seen.errors, []);
      await context.close();
    });
  });
}

test("a comparison stands beside the run", async () => {
  const file = path.join(folder, "against.html");
  const slower = path.join(folder, "one-step.json");
  run("demo", "--steps", "1", "--out", slower);
  run("report", demo, "--against", slower, "--out", file);
  const { page, context } = await open(file);
  // Each table's lines sum to its last one, the difference of the steps.
  const tables = await page.$$eval("#difference tbody", (bodies) => bodies.map((body) =>
    [...body.rows].map((row) => Number([...row.querySelectorAll("data")].at(-1).value))));
  assert.equal(tables.length, 3);
  for (const differences of tables) {
    const step = differences.pop();
    assert.ok(Math.abs(differences.reduce((total, ms) => total + ms, 0) - step) < 1e-4);
  }
  await context.close();
});
