// Brings the lanes to life: zoom, pan, and what each box is and waited for, by mouse, touch and keyboard. Without this
// script the page shows the same lanes as a drawing.
(() => {
  "use strict";
  const source = document.getElementById("lane-data");
  const view = document.getElementById("lane-view");
  if (!source || !view) return;
  const picture = JSON.parse(source.textContent);
  const KINDS = ["compute", "communication", "copy", "wait", "forward", "backward", "update"];
  const KIND_WORDS = ["compute", "communication", "copy or fill", "waiting for a rank", "pass", "pass", "update"];
  const FIRST_PASS = 4; // Kinds from here on are of the schedule; their boxes are lettered.
  const LETTERS = { 4: "F", 5: "B", 6: "" };
  const LEAST_SPAN_NS = 1000;

  // Six numbers a box become columns; starts are relative to the end of the box before.
  const lanes = picture.lanes.map((lane, index) => {
    const count = lane.boxes.length / 6;
    const out = { ...lane, row: view.children[index], start: [], end: [], kind: [], name: [], wait: [], merged: [], count };
    let reached = 0;
    for (let i = 0; i < count; ++i) {
      const [gap, length, kind, name, wait, merged] = lane.boxes.slice(6 * i, 6 * i + 6);
      out.start.push(reached + gap);
      reached += gap + length;
      out.end.push(reached);
      out.kind.push(kind);
      out.name.push(name);
      out.wait.push(wait);
      out.merged.push(merged);
    }
    return out;
  });

  let from = 0;
  let to = picture.length;
  let chosen = null; // {lane, box}
  const millis = (ns, places = 3) => (ns / 1e6).toFixed(places) + " ms";
  const duration = (ns) => (ns < 1e6 ? (ns / 1e3).toFixed(1) + " us" : millis(ns));

  for (const lane of lanes) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `rank ${lane.rank}, ${lane.label}`);
    lane.row.querySelector("svg").replaceWith(canvas);
    lane.canvas = canvas;
  }

  const tools = document.createElement("div");
  tools.className = "lane-tools";
  const detail = document.createElement("div");
  detail.className = "lane-detail";
  detail.id = "lane-detail";
  detail.setAttribute("role", "status");
  const help = "Point at a box to see what it is. Drag to move, hold Ctrl and turn the wheel to zoom. With the keyboard: "
    + "arrows go from box to box and lane to lane, + and - zoom, 0 shows the whole step.";
  detail.textContent = help;
  const button = (text, label, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    tools.append(made);
  };
  button("+", "zoom in", () => zoom(0.5, focusTime()));
  button("\u2212", "zoom out", () => zoom(2, focusTime()));
  button("\u2190", "earlier", () => pan(-0.25));
  button("\u2192", "later", () => pan(0.25));
  button("whole step", "show the whole step", () => show(0, picture.length));
  view.before(tools);
  document.getElementById("lane-axis").after(detail);
  view.classList.add("live");
  view.tabIndex = 0;
  view.setAttribute("role", "group");
  view.setAttribute("aria-label", "Streams. " + help);

  // The first box that ends after `time`; boxes are in order of time.
  function firstAfter(lane, time) {
    let low = 0;
    let high = lane.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // "F3": the forward pass of micro-batch 3, where there is room for it.
  function letter(context, lane, box, left, right, height, colours, ratio) {
    const number = /micro-batch (\d+)/.exec(picture.texts[lane.name[box]]);
    const text = LETTERS[lane.kind[box]] + (number ? number[1] : "");
    context.font = `${11 * ratio}px ${colours.font}`;
    if (context.measureText(text).width > right - left - 4 * ratio) return;
    context.fillStyle = KINDS[lane.kind[box]] === "backward" ? colours.onBackward : colours.onForward;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, (left + right) / 2, height / 2 + ratio / 2);
  }

  function drawLane(lane, colours) {
    const canvas = lane.canvas;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    const scale = width / (to - from);
    for (let i = firstAfter(lane, from); i < lane.count && lane.start[i] < to; ++i) {
      const left = Math.max(0, (lane.start[i] - from) * scale);
      const right = Math.min(width, (lane.end[i] - from) * scale);
      context.fillStyle = colours[lane.kind[i]];
      // A gap of a pixel tells neighbours apart once there is room for it.
      const gap = right - left > 4 * ratio ? ratio : 0;
      context.fillRect(left, 0, Math.max(ratio / 2, right - left - gap), height);
      if (lane.kind[i] >= FIRST_PASS) letter(context, lane, i, left, right - gap, height, colours, ratio);
      if (chosen && chosen.lane === lane && chosen.box === i) {
        context.strokeStyle = colours.text;
        context.lineWidth = 2 * ratio;
        context.strokeRect(left + ratio, ratio, Math.max(2 * ratio, right - left - 2 * ratio), height - 2 * ratio);
      }
    }
    lane.row.classList.toggle("current", Boolean(chosen && chosen.lane === lane));
  }

  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const style = getComputedStyle(document.documentElement);
      const colours = KINDS.map((kind) => style.getPropertyValue("--" + kind).trim());
      colours.text = style.getPropertyValue("--text").trim();
      colours.onForward = style.getPropertyValue("--on-forward").trim();
      colours.onBackward = style.getPropertyValue("--on-backward").trim();
      colours.font = getComputedStyle(document.body).fontFamily;
      for (const lane of lanes) drawLane(lane, colours);
      const [first, last] = document.getElementById("lane-axis").children;
      const places = to - from < 1e6 ? 4 : 2;
      first.textContent = millis(from, places);
      last.textContent = millis(to, places);
    });
  }

  function show(newFrom, newTo) {
    const span = Math.min(picture.length, Math.max(LEAST_SPAN_NS, newTo - newFrom));
    from = Math.min(Math.max(0, newFrom), picture.length - span);
    to = from + span;
    draw();
  }
  function zoom(factor, time) {
    show(time - (time - from) * factor, time + (to - time) * factor);
  }
  function pan(share) {
    const shift = share * (to - from);
    show(from + shift, to + shift);
  }
  function focusTime() {
    if (!chosen) return (from + to) / 2;
    const middle = (chosen.lane.start[chosen.box] + chosen.lane.end[chosen.box]) / 2;
    return middle < from || middle > to ? (from + to) / 2 : middle;
  }

  function choose(lane, box) {
    chosen = { lane, box };
    const length = lane.end[box] - lane.start[box];
    const name = picture.texts[lane.name[box]];
    const merged = lane.merged[box];
    const lines = [
      merged > 1 ? `${merged} short tasks, the first: ${name}` : name,
      `${KIND_WORDS[lane.kind[box]]} on rank ${lane.rank}, ${lane.label}; `
        + `${duration(length)} from ${millis(lane.start[box])}`,
    ];
    if (picture.texts[lane.wait[box]]) lines.push(`waited for ${picture.texts[lane.wait[box]]}`);
    detail.replaceChildren(...lines.flatMap((line, i) => (i ? [document.createElement("br"), line] : [line])));
    draw();
  }

  function timeAt(event, canvas) {
    const box = canvas.getBoundingClientRect();
    return from + ((event.clientX - box.left) / box.width) * (to - from);
  }

  let drag = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, from, to };
    view.setPointerCapture(event.pointerId);
  });
  view.addEventListener("pointerup", () => {
    drag = null;
    view.classList.remove("dragging");
  });
  view.addEventListener("pointermove", (event) => {
    const width = lanes[0].canvas.clientWidth;
    if (drag && Math.abs(event.clientX - drag.x) > 2) {
      view.classList.add("dragging");
      const shift = ((drag.x - event.clientX) / width) * (drag.to - drag.from);
      show(drag.from + shift, drag.to + shift);
      return;
    }
    const lane = lanes.find((each) => {
      const box = each.canvas.getBoundingClientRect();
      return event.clientY >= box.top && event.clientY < box.bottom;
    });
    if (!lane) return;
    const time = timeAt(event, lane.canvas);
    const slack = ((to - from) / width) * 2;
    const box = firstAfter(lane, time - slack);
    if (box < lane.count && lane.start[box] <= time + slack) choose(lane, box);
  });
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // The page scrolls as ever.
    event.preventDefault();
    zoom(Math.exp(event.deltaY / 400), timeAt(event, lanes[0].canvas));
  }, { passive: false });

  function stepBox(by) {
    if (!chosen) return choose(lanes[0], Math.min(firstAfter(lanes[0], from), lanes[0].count - 1));
    const box = Math.min(chosen.lane.count - 1, Math.max(0, chosen.box + by));
    choose(chosen.lane, box);
    bringIntoView();
  }
  function stepLane(by) {
    if (!chosen) return stepBox(0);
    const at = Math.min(lanes.length - 1, Math.max(0, lanes.indexOf(chosen.lane) + by));
    const time = chosen.lane.start[chosen.box];
    choose(lanes[at], Math.min(firstAfter(lanes[at], time), lanes[at].count - 1));
    bringIntoView();
    lanes[at].row.scrollIntoView({ block: "nearest" });
  }
  function bringIntoView() {
    const start = chosen.lane.start[chosen.box];
    const end = chosen.lane.end[chosen.box];
    if (start >= from && end <= to) return;
    const half = (to - from) / 2;
    show(start - half, start + half);
  }
  const KEYS = {
    ArrowRight: () => stepBox(1),
    ArrowLeft: () => stepBox(-1),
    ArrowDown: () => stepLane(1),
    ArrowUp: () => stepLane(-1),
    "+": () => zoom(0.5, focusTime()),
    "=": () => zoom(0.5, focusTime()),
    "-": () => zoom(2, focusTime()),
    0: () => show(0, picture.length),
  };
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
