// SPDX-License-Identifier: Apache-2.0
// Draws a study (what `longship study export --format json` writes) as SVG into an element: history, importance, Pareto front,
// curves, parallel coordinates, slices. No library, no request: the same file is in the page that `longship study plot` writes
// and in the portal. Pointing at a trial marks it in all pictures.

const SVG = "http://www.w3.org/2000/svg";
const MOST_DRAWN = 2500; // trials; more only cover each other

/** Draws all that the study has something for. */
export function draw(root, study) {
  const trials = thinned(study.trials.map(readTrial), study);
  root.replaceChildren();
  const columns = Math.max(1, Math.floor((root.clientWidth + GAP) / (CARD + GAP)));
  let row = []; // the cards that share a row
  const picture = (title, about, wide, build) => {
    const card = html("section", { class: wide ? "card wide" : "card" });
    const words = [html("h2", {}, title), html("p", { class: "about" }, about)];
    const fill = (share) => card.replaceChildren(...words, build(boxOf(root.clientWidth / share)));
    if (wide) endRow();
    else row = row.length === columns ? [{ card, fill }] : [...row, { card, fill }];
    fill(wide ? 1 : columns);
    root.append(card);
  };
  const endRow = () => {
    if (columns > 1 && row.length === 1) { // nothing stands beside it
      row[0].card.classList.add("wide");
      row[0].fill(1);
    }
    row = [];
  };
  study.objectives.forEach((objective, index) => {
    const of = study.objectives.length > 1 ? ` of ${objective.metric}` : "";
    picture(`History${of}`, "Each trial in its order; the line is the best so far. What lies far off stands at the edge.", false,
      (box) => historyPlot(study, trials, index, box));
    if (Object.keys(study.importance[index] ?? {}).length > 0)
      picture(`Importance${of}`, "How much of the variation each parameter explains by itself (fANOVA).", false,
        (box) => importancePlot(study.importance[index], box));
  });
  if (study.objectives.length > 1)
    picture("Pareto front", "Trials that no other one beats in all objectives are filled.", false,
      (box) => paretoPlot(study, trials, box));
  if (trials.some((trial) => trial.reports.length > 1))
    picture("Curves", `${study.objectives[0].metric} as it was reported on the way; pruned trials are dashed.`, false,
      (box) => curvesPlot(study, trials, box));
  const complete = trials.filter((trial) => trial.state === "complete");
  if (complete.length > 1 && study.parameters.length > 0) {
    picture("Parallel coordinates", "One line for each complete trial, the better the darker.", true,
      () => parallelPlot(study, complete));
    picture("Slices", "The objective over each parameter; later trials are darker.", true, () => {
      const row = html("div", { class: "slices" });
      for (const parameter of study.parameters) row.append(slicePlot(study, complete, parameter));
      return row;
    });
  }
  endRow();
  if (complete.length === 0)
    root.prepend(html("p", { class: "empty" }, "No trial is complete yet: there is nothing to draw."));
  markTogether(root);
}

// --- data ---

function readTrial(trial) {
  const number = (value) => (typeof value === "number" ? value : { inf: Infinity, "-inf": -Infinity }[value] ?? NaN);
  return {
    ...trial,
    values: trial.values.map(number),
    reports: trial.reports.map(([step, value]) => [step, number(value)]),
  };
}

// The best ones, and of the others each n-th.
function thinned(trials, study) {
  const told = trials.filter((trial) => !trial.rejected && trial.state !== "waiting");
  if (told.length <= MOST_DRAWN) return told;
  const sign = study.objectives[0].direction === "maximize" ? -1 : 1;
  const ranked = told.filter((trial) => trial.state === "complete").sort((a, b) => sign * (a.values[0] - b.values[0]));
  const kept = new Set([...ranked.slice(0, 200).map((trial) => trial.number), ...study.best.map((trial) => trial.number)]);
  const every = Math.ceil(told.length / (MOST_DRAWN - 200));
  return told.filter((trial, index) => kept.has(trial.number) || index % every === 0);
}

function bestSoFar(trials, index, direction) {
  const better = direction === "maximize" ? Math.max : Math.min;
  let best = NaN;
  return trials.map((trial) => {
    const value = trial.state === "complete" ? trial.values[index] : NaN;
    if (Number.isFinite(value)) best = Number.isNaN(best) ? value : better(best, value);
    return best;
  });
}

// --- numbers and axes ---

export function short(value) {
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

function niceTicks(low, high, count, whole) {
  const raw = whole ? Math.max(1, (high - low) / count) : (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw) ?? raw;
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; ++power) ticks.push(10 ** power);
  return ticks.length > 1 ? ticks : [low, high];
}

// A scale maps a value to a place between `from` and `to`, and knows its ticks.
function linear(low, high, from, to, count = 5, whole = false) {
  if (!(high > low)) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const scale = (value) => from + ((value - low) / (high - low)) * (to - from);
  return Object.assign(scale, { ticks: niceTicks(low, high, count, whole) });
}

function logarithmic(low, high, from, to) {
  const inner = linear(Math.log10(low), Math.log10(high), from, to);
  return Object.assign((value) => inner(Math.log10(value)), { ticks: logTicks(low, high) });
}

function categories(choices, from, to) {
  const place = (index) => from + ((index + 0.5) / choices.length) * (to - from);
  const texts = choices.map(String);
  return Object.assign((value) => place(texts.indexOf(String(value))), { ticks: choices, room: Math.abs(to - from) / choices.length });
}

function scaleOf(parameter, from, to) {
  if (parameter.choices) return categories(parameter.choices, from, to);
  return parameter.log
    ? logarithmic(parameter.low, parameter.high, from, to)
    : linear(parameter.low, parameter.high, from, to, 4, parameter.kind === "int");
}

// From the bulk of the values: one that exploded must not flatten all others.
function extent(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return [0, 1];
  const quarter = (share) => sorted[Math.floor(share * (sorted.length - 1))];
  const reach = 6 * (quarter(0.75) - quarter(0.25)) || Infinity;
  const low = Math.max(sorted[0], quarter(0.25) - reach);
  const high = Math.min(sorted[sorted.length - 1], quarter(0.75) + reach);
  const margin = (high - low) * 0.05;
  return [low - margin, high + margin];
}

// --- pictures ---

function html(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Not by an attribute, which a strict content security policy forbids.
function shaded(element, shade) {
  element.style.setProperty("--shade", shade.toFixed(3));
  return element;
}

function frame(width, height, label) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

function text(x, y, words, attributes = {}) {
  return svg("text", { x, y, ...attributes }, words);
}

// A letter is about so wide.
const LETTER = 6;

function cut(words, room) {
  const most = Math.max(2, Math.floor(room / LETTER));
  return words.length > most ? `${words.slice(0, most - 1)}…` : words;
}

const CARD = 460, GAP = 16; // the least width of a card and what is between them, as in plots.css

// Drawn as wide as it will stand there: letters that shrink or grow with a picture cannot be read.
function boxOf(room) {
  return { width: Math.max(300, Math.min(1140, (room || 600) - 40)), height: 300, left: 58, right: 14, top: 12, bottom: 40 };
}

function withAxes(box, x, y, xName, yName) {
  const picture = frame(box.width, box.height, `${yName} over ${xName}`);
  const bottom = box.height - box.bottom;
  for (const tick of y.ticks) {
    const place = y(tick);
    if (place < box.top - 1 || place > bottom + 1) continue;
    picture.append(svg("line", { class: "grid", x1: box.left, x2: box.width - box.right, y1: place, y2: place }),
      text(box.left - 7, place + 4, short(tick), { class: "tick", "text-anchor": "end" }));
  }
  for (const tick of x.ticks)
    picture.append(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }),
      text(x(tick), bottom + 17, cut(short(tick), x.room ?? Infinity), { class: "tick", "text-anchor": "middle" }));
  picture.append(svg("line", { class: "axis", x1: box.left, x2: box.width - box.right, y1: bottom, y2: bottom }),
    text((box.left + box.width - box.right) / 2, box.height - 5, cut(xName, box.width - box.left), { class: "name", "text-anchor": "middle" }));
  if (yName)
    picture.append(text(0, 0, yName, { class: "name", "text-anchor": "middle", transform: `translate(12 ${(box.top + bottom) / 2}) rotate(-90)` }));
  return picture;
}

function about(trial, study) {
  const lines = [`trial ${trial.number}: ${trial.state}`];
  trial.values.forEach((value, index) => lines.push(`${study.objectives[index]?.metric ?? "value"} ${short(value)}`));
  for (const [name, value] of Object.entries(trial.params)) lines.push(`${name} = ${short(value)}`);
  return lines.join("\n");
}

function dot(trial, study, x, y, attributes) {
  return svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 3.4, "data-trial": trial.number, ...attributes },
    svg("title", {}, about(trial, study)));
}

function historyPlot(study, trials, index, box) {
  const { metric, direction } = study.objectives[index];
  const bottom = box.height - box.bottom;
  const x = linear(0, Math.max(1, ...trials.map((trial) => trial.number)), box.left + 6, box.width - box.right - 6, 5, true);
  const shown = trials.map((trial) => (trial.state === "complete" || trial.state === "pruned" ? trial.values[index] : NaN));
  const y = linear(...extent(shown), bottom, box.top);
  const clamp = (place) => Math.min(bottom, Math.max(box.top, place));
  const picture = withAxes(box, x, y, "trial", metric);
  let path = "";
  bestSoFar(trials, index, direction).forEach((best, place) => {
    if (Number.isNaN(best)) return;
    const at = x(trials[place].number).toFixed(1), height = clamp(y(best)).toFixed(1);
    path += path ? `H${at}V${height}` : `M${at},${height}`;
  });
  trials.forEach((trial, place) => {
    if (trial.state === "failed")
      picture.append(svg("path", { class: "failed", "data-trial": trial.number, d: `M${x(trial.number) - 3},${bottom - 7}l6,6m0,-6l-6,6` },
        svg("title", {}, `${about(trial, study)}\n${trial.reason ?? ""}`)));
    else if (!Number.isNaN(shown[place]))
      picture.append(dot(trial, study, x(trial.number), clamp(y(shown[place])), { class: trial.state }));
  });
  picture.append(svg("path", { class: "best", d: path })); // above: many trials would hide it
  return picture;
}

function importancePlot(shares, box) {
  const entries = Object.entries(shares);
  const row = 30, width = box.width, left = 150;
  const picture = frame(width, entries.length * row + 12, "importance of the parameters");
  entries.forEach(([name, share], index) => {
    const y = index * row + 8;
    const length = Math.max(2, share * (width - left - 64));
    picture.append(text(left - 10, y + 15, cut(name, left - 30), { class: "label", "text-anchor": "end" }),
      svg("rect", { class: "share", x: left, y, width: length, height: row - 10, rx: 2 }),
      text(left + length + 8, y + 15, `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`, { class: "tick" }));
  });
  return picture;
}

function paretoPlot(study, trials, box) {
  const complete = trials.filter((trial) => trial.state === "complete");
  const bottom = box.height - box.bottom;
  const x = linear(...extent(complete.map((trial) => trial.values[0])), box.left, box.width - box.right);
  const y = linear(...extent(complete.map((trial) => trial.values[1])), bottom, box.top);
  const names = study.objectives.map(({ metric, direction }) => `${metric} (${direction === "maximize" ? "more" : "less"} is better)`);
  const picture = withAxes(box, x, y, names[0], names[1]);
  const front = new Set(study.best.map((trial) => trial.number));
  const inside = (trial) => Number.isFinite(trial.values[0]) && Number.isFinite(trial.values[1]);
  if (study.objectives.length === 2) {
    const line = complete.filter((trial) => front.has(trial.number) && inside(trial)).sort((a, b) => a.values[0] - b.values[0]);
    picture.append(svg("polyline", { class: "best", points: line.map((trial) => `${x(trial.values[0])},${y(trial.values[1])}`).join(" ") }));
  }
  for (const trial of complete)
    if (inside(trial))
      picture.append(dot(trial, study, x(trial.values[0]), y(trial.values[1]), { class: front.has(trial.number) ? "front" : "other" }));
  return picture;
}

function curvesPlot(study, trials, box) {
  const curves = trials.filter((trial) => trial.reports.length > 1).slice(-300);
  const steps = curves.flatMap((trial) => trial.reports.map(([step]) => step));
  const bottom = box.height - box.bottom;
  const x = linear(Math.min(...steps), Math.max(...steps), box.left, box.width - box.right, 5, true);
  const y = linear(...extent(curves.flatMap((trial) => trial.reports.map(([, value]) => value))), bottom, box.top);
  const picture = withAxes(box, x, y, "step", study.objectives[0].metric);
  const best = new Set(study.best.map((trial) => trial.number));
  for (const trial of curves) {
    const points = trial.reports.filter(([, value]) => Number.isFinite(value))
      .map(([step, value]) => `${x(step).toFixed(1)},${Math.min(bottom, Math.max(box.top, y(value))).toFixed(1)}`);
    picture.append(svg("polyline", { class: `curve ${trial.state}${best.has(trial.number) ? " winner" : ""}`, "data-trial": trial.number, points: points.join(" ") },
      svg("title", {}, about(trial, study))));
  }
  return picture;
}

// 0 for the worst, 1 for the best, by rank: so that shades are even.
function merits(study, trials) {
  const sign = study.objectives[0].direction === "maximize" ? 1 : -1;
  const order = [...trials].sort((a, b) => sign * (a.values[0] - b.values[0]));
  return new Map(order.map((trial, index) => [trial.number, trials.length > 1 ? index / (trials.length - 1) : 1]));
}

function parallelPlot(study, trials) {
  const width = 1140, height = 320, top = 34, bottom = 292, left = 70, right = 70;
  const objective = study.objectives[0];
  const [low, high] = extent(trials.map((trial) => trial.values[0]));
  const columns = [{ name: objective.metric, scale: linear(low, high, bottom, top), of: (trial) => trial.values[0] },
    ...study.parameters.map((parameter) => ({ name: parameter.name, scale: scaleOf(parameter, bottom, top), of: (trial) => trial.params[parameter.name] }))];
  const x = (index) => left + (index / (columns.length - 1)) * (width - left - right);
  const picture = frame(width, height, "parallel coordinates");
  const merit = merits(study, trials);
  for (const trial of [...trials].sort((a, b) => merit.get(a.number) - merit.get(b.number))) {
    let path = "", pen = "M";
    columns.forEach((column, index) => {
      const value = column.of(trial);
      if (value === undefined || (typeof value === "number" && !Number.isFinite(value))) {
        pen = "M";
        return;
      }
      path += `${pen}${x(index).toFixed(1)},${Math.min(bottom, Math.max(top, column.scale(value))).toFixed(1)}`;
      pen = "L";
    });
    picture.append(shaded(svg("path", { class: "thread", "data-trial": trial.number, d: path }, svg("title", {}, about(trial, study))),
      merit.get(trial.number)));
  }
  columns.forEach((column, index) => {
    picture.append(svg("line", { class: "axis", x1: x(index), x2: x(index), y1: top, y2: bottom }),
      text(x(index), 16, cut(column.name, Math.max(60, x(1) - x(0) - 6)), { class: "label", "text-anchor": "middle" }));
    for (const tick of column.scale.ticks)
      picture.append(text(x(index) - 6, column.scale(tick) + 4, cut(short(tick), Math.max(60, x(1) - x(0) - 12)), { class: "tick halo", "text-anchor": "end" }));
  });
  return picture;
}

function slicePlot(study, trials, parameter) {
  const box = { width: 280, height: 220, left: 50, right: 10, top: 10, bottom: 38 };
  const having = trials.filter((trial) => trial.params[parameter.name] !== undefined && Number.isFinite(trial.values[0]));
  const x = scaleOf(parameter, box.left + 6, box.width - box.right - 6);
  const bottom = box.height - box.bottom;
  const y = linear(...extent(trials.map((trial) => trial.values[0])), bottom, box.top);
  if (x.ticks.length > 4) x.ticks = x.ticks.filter((_, index) => index % Math.ceil(x.ticks.length / 4) === 0);
  const picture = withAxes(box, x, y, parameter.log ? `${parameter.name} (log)` : parameter.name, "");
  const last = Math.max(1, ...having.map((trial) => trial.number));
  for (const trial of having)
    picture.append(shaded(dot(trial, study, x(trial.params[parameter.name]), Math.min(bottom, Math.max(box.top, y(trial.values[0]))),
      { class: "slice" }), trial.number / last));
  return picture;
}

// --- pointing ---

function markTogether(root) {
  const mark = (event, on) => {
    const number = event.target.closest?.("[data-trial]")?.dataset.trial;
    if (number === undefined) return;
    for (const element of root.querySelectorAll(`[data-trial="${number}"]`)) element.classList.toggle("hot", on);
  };
  root.onpointerover = (event) => mark(event, true); // once, however often it is drawn
  root.onpointerout = (event) => mark(event, false);
}
