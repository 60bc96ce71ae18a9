// Charts that answer to the pointer and the keyboard: utilisation over the step, breakdown of the runs. They take the
// place of the drawings in ".chart" elements, which hold the numbers as JSON; a page whose script does not run, or that
// was made by a build without ECharts, keeps the drawings.
import { BarChart, LineChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([BarChart, LineChart, DataZoomComponent, GridComponent, TooltipComponent, SVGRenderer]);

const BAR_HEIGHT = 30;
const ZOOM_STEP = 0.5;
const PAN_STEP = 0.25;
// As in report.css: runs are told apart by their dashes, not by colour alone.
const LINES = {
  measured: { colour: "quiet", type: "solid", width: 1.5 },
  replayed: { colour: "accent", type: [5, 3], width: 1.5 },
  predicted: { colour: "text", type: [1, 3], width: 2 },
};

/** Milliseconds as the tables write them: about four digits. */
const millis = (ms) => (Math.abs(ms) >= 100 ? ms.toFixed(1) : ms.toPrecision(4)) + " ms";

/** The same for the labels of an axis. */
const axisMillis = (ms) => +ms.toPrecision(4) + " ms";

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function theme() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue("--" + name).trim();
}

function common(colour) {
  return {
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colour("quiet") },
    tooltip: {
      confine: true,
      backgroundColor: colour("raised"),
      borderColor: colour("line"),
      textStyle: { color: colour("text"), fontSize: 13 },
    },
  };
}

function axis(colour, more) {
  return {
    axisLabel: { color: colour("quiet"), hideOverlap: true },
    axisLine: { lineStyle: { color: colour("line") } },
    axisTick: { lineStyle: { color: colour("line") } },
    splitLine: { lineStyle: { color: colour("line") } },
    ...more,
  };
}

function barOption(data, colour) {
  const series = data.parts.map((part, index) => ({
    name: part.name,
    type: "bar",
    stack: "step",
    barWidth: "70%",
    itemStyle: { color: colour(part.colour) },
    emphasis: { itemStyle: { borderColor: colour("text"), borderWidth: 2 } },
    data: data.runs.map((run) => run.ms[index]),
  }));
  return {
    ...common(colour),
    tooltip: {
      ...common(colour).tooltip,
      formatter: ({ seriesName, value, dataIndex }) => {
        const run = data.runs[dataIndex];
        const whole = run.ms.reduce((sum, ms) => sum + ms, 0);
        return `${escape(run.name)}<br>${seriesName}: <b>${millis(value)}</b>, `
          + `${(whole > 0 ? (100 * value) / whole : 0).toFixed(1)} % of ${millis(whole)}`;
      },
    },
    grid: { left: 84, right: 24, top: 4, bottom: 28 },
    xAxis: axis(colour, { type: "value", max: "dataMax", axisLabel: { color: colour("quiet"), hideOverlap: true, formatter: axisMillis, showMaxLabel: false }, splitLine: { show: false } }),
    yAxis: axis(colour, { type: "category", inverse: true, data: data.runs.map((run) => run.name), axisTick: { show: false } }),
    series,
  };
}

function curveOption(data, colour) {
  const series = data.runs.map((run) => {
    const line = LINES[run.name] ?? LINES.predicted;
    // A share holds for its whole interval: a step that ends where the run does.
    const points = run.busy_pct.map((share, i) => [i * run.interval_ms, share]);
    if (points.length) points.push([Math.min(run.length_ms, points.length * run.interval_ms), points.at(-1)[1]]);
    return {
      name: run.name,
      type: "line",
      step: "end",
      symbol: "none",
      sampling: "lttb",
      lineStyle: { color: colour(line.colour), type: line.type, width: line.width },
      itemStyle: { color: colour(line.colour) },
      data: points,
    };
  });
  return {
    ...common(colour),
    tooltip: {
      ...common(colour).tooltip,
      trigger: "axis",
      axisPointer: { lineStyle: { color: colour("quiet") } },
      formatter: (rows) => [`at ${millis(rows[0].axisValue)}`,
        ...rows.map((row) => `${escape(row.seriesName)}: <b>${row.value[1].toFixed(1)} %</b>`)].join("<br>"),
    },
    grid: { left: 48, right: 24, top: 10, bottom: 62 },
    xAxis: axis(colour, { type: "value", min: 0, max: data.length_ms, axisLabel: { color: colour("quiet"), hideOverlap: true, formatter: axisMillis } }),
    yAxis: axis(colour, { type: "value", min: 0, max: 100, interval: 50, axisLabel: { color: colour("quiet"), formatter: "{value} %" } }),
    dataZoom: [
      { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, filterMode: "none" },
      {
        type: "slider", height: 18, bottom: 8, filterMode: "none", showDetail: false, brushSelect: false,
        borderColor: colour("line"), fillerColor: "transparent", handleStyle: { color: colour("quiet") },
        moveHandleStyle: { color: colour("quiet") }, dataBackground: { lineStyle: { color: colour("line") }, areaStyle: { color: colour("raised") } },
        selectedDataBackground: { lineStyle: { color: colour("quiet") }, areaStyle: { color: colour("line") } },
      },
    ],
    series,
  };
}

/** Arrows move the part of the step that shows, + and - zoom, 0 shows all of it. */
function listenToKeys(element, chart) {
  const range = () => {
    const { start, end } = chart.getOption().dataZoom[0];
    return [start, end];
  };
  const show = (start, end) => {
    const span = Math.min(100, Math.max(0.1, end - start));
    const from = Math.min(Math.max(0, start), 100 - span);
    chart.dispatchAction({ type: "dataZoom", start: from, end: from + span });
  };
  const zoom = (factor) => {
    const [start, end] = range();
    const middle = (start + end) / 2;
    show(middle - (factor * (end - start)) / 2, middle + (factor * (end - start)) / 2);
  };
  const pan = (share) => {
    const [start, end] = range();
    show(start + share * (end - start), end + share * (end - start));
  };
  const keys = {
    "+": () => zoom(ZOOM_STEP),
    "=": () => zoom(ZOOM_STEP),
    "-": () => zoom(1 / ZOOM_STEP),
    0: () => show(0, 100),
    ArrowLeft: () => pan(-PAN_STEP),
    ArrowRight: () => pan(PAN_STEP),
  };
  element.tabIndex = 0;
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

const KINDS = { bars: barOption, curves: curveOption };

for (const element of document.querySelectorAll(".chart")) {
  const data = JSON.parse(element.querySelector("script").textContent);
  const drawing = element.querySelector(".drawing");
  const place = document.createElement("div");
  place.className = "live-chart";
  place.style.height = data.kind === "bars" ? `${BAR_HEIGHT * data.runs.length + 36}px` : "15rem";
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", data.label);
  drawing.replaceWith(place);
  const chart = init(place, null, { renderer: "svg" });
  const draw = () => chart.setOption(KINDS[data.kind](data, theme()), true);
  draw();
  if (data.kind === "curves") {
    listenToKeys(place, chart);
    element.classList.add("zooms");
  }
  place.lumosChart = chart;
  new ResizeObserver(() => chart.resize()).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
