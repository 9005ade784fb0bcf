// SPDX-License-Identifier: Apache-2.0
// One curve, drawn by uPlot: axes with units, the shared crosshair, and the same data as PNG and CSV.
import type uPlot from "uplot";
import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../api/store";
import type { Point } from "../api/types";
import { duration, figure, grouped } from "../format";
import { saveAs } from "../parts/download";
import { colours } from "../shell/theme";

const height = 210;
const library = () => import("uplot").then((module) => module.default);

interface Props {
  name: string;
  points: Point[];
  log: boolean;
  time: boolean;
  file: string; // beginning of the names of downloads
}

export function Plot(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [made, setMade] = useState(0);
  const theme = useStore(colours);

  useEffect(() => {
    let gone = false;
    void library().then((make) => {
      const where = place.current;
      if (gone || !where) return;
      plot.current = new make(options(props, where), columns(props), where);
      setMade((n) => n + 1);
    });
    return () => {
      gone = true;
      plot.current?.destroy();
      plot.current = null;
    };
  }, [props.log, props.time, props.name, theme]);

  useEffect(() => {
    if (plot.current) renew(plot.current, columns(props));
  }, [props.points]);

  useEffect(() => {
    const where = place.current!;
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: where.clientWidth, height }));
    watcher.observe(where);
    return () => watcher.disconnect();
  }, [made]);

  return (
    <figure class="plot">
      <figcaption>
        <strong>{props.name}</strong>
        <span class="tools">
          <button
            class="quiet"
            aria-label={`${props.name} as PNG`}
            onClick={() => plot.current && savePng(plot.current, props)}
          >
            PNG
          </button>
          <button
            class="quiet"
            aria-label={`${props.name} as CSV`}
            onClick={() => saveAs(fileName(props, "csv"), new Blob([csv(props)], { type: "text/csv" }))}
          >
            CSV
          </button>
        </span>
      </figcaption>
      <div class="canvas" ref={place} role="img" aria-label={spoken(props)} />
    </figure>
  );
}

// Whoever looks at a part goes on looking at that part.
function renew(plot: uPlot, data: uPlot.AlignedData): void {
  const [before] = plot.data;
  const { min, max } = plot.scales.x!;
  const closer = before.length > 1 && (min! > before[0]! || max! < before.at(-1)!);
  plot.setData(data, !closer);
  if (closer) plot.redraw();
}

// Seconds count from the first point, whatever the clock they were taken with.
function columns({ points, log, time }: Props): uPlot.AlignedData {
  const begin = points[0] && points[0][1] > 1e8 ? points[0][1] : 0;
  const y = points.map(([, , value]) => (value === null || (log && value <= 0) ? null : value));
  return [points.map((point) => (time ? point[1] - begin : point[0])), y];
}

function options({ name, log, time }: Props, where: HTMLElement): uPlot.Options {
  const colour = (variable: string) => colourOf(where, variable);
  const { fontFamily } = getComputedStyle(where);
  const axis = {
    stroke: colour("--muted"),
    font: `12px ${fontFamily}`,
    labelFont: `12px ${fontFamily}`,
    labelSize: 18,
    labelGap: 2,
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--grid"), width: 1, size: 4 },
  };
  const x = time ? "time since the first step" : "step";
  return {
    width: where.clientWidth,
    height,
    padding: [10, 12, 0, 0],
    cursor: { sync: { key: "job", scales: ["x", null] }, points: { size: 7 }, focus: { prox: -1 } },
    scales: {
      x: { time: false },
      y: log
        ? { distr: 3, log: 10, range: (_, low, high) => [oneDigit(low, Math.floor), oneDigit(high, Math.ceil)] }
        : {},
    },
    axes: [
      {
        ...axis,
        label: x,
        size: 30,
        values: (_, at) => at.map((value) => (time ? duration(value) : grouped(value))),
        incrs: time ? undefined : wholeSteps,
      },
      {
        ...axis,
        label: name,
        size: 56,
        values: (_, at, __, ___, step) =>
          at.map((value) => (value === null ? "" : log ? figure(value) : tick(value, step))),
      },
    ],
    series: [
      {
        label: time ? "time" : "step",
        value: (_, value) => (value === null ? "–" : time ? duration(value) : grouped(value)),
      },
      {
        label: name,
        stroke: colour("--curve"),
        width: 1.5,
        points: { show: false },
        value: (_, value) => figure(value),
      },
    ],
  };
}

// A canvas does not understand variables: let the browser work one out for an element that nobody sees.
function colourOf(where: HTMLElement, variable: string): string {
  const probe = where.appendChild(document.createElement("span"));
  probe.style.color = `var(${variable})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

// 0.24 → 0.2, 4 180 → 5 000: where ticks of a logarithmic axis begin and end.
function oneDigit(value: number, round: (value: number) => number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return round(value / power) * power;
}

// As many decimals as the distance between ticks needs, the same for all of them.
function tick(value: number, step: number): string {
  if (step >= 1) return figure(value);
  if (step < 1e-5) return value.toExponential(1);
  return value.toFixed(Math.min(5, Math.ceil(-Math.log10(step) - 1e-9)));
}

const wholeSteps = [1, 2, 5]
  .flatMap((digit) => Array.from({ length: 12 }, (_, power) => digit * 10 ** power))
  .sort((a, b) => a - b);

function spoken({ name, points }: Props): string {
  const told = points.filter((point): point is [number, number, number] => point[2] !== null);
  const first = told[0];
  const last = told.at(-1);
  if (!first || !last) return `${name}: no values`;
  const values = told.map(([, , value]) => value);
  return `${name} from ${figure(first[2])} at step ${first[0]} to ${figure(last[2])} at step ${last[0]}; lowest ${figure(Math.min(...values))}, highest ${figure(Math.max(...values))}`;
}

function csv({ name, points }: Props): string {
  return (
    `step,seconds,"${name.replaceAll('"', '""')}"\n` +
    points.map(([step, seconds, value]) => `${step},${seconds},${value ?? ""}\n`).join("")
  );
}

function fileName({ file, name }: Props, ending: string): string {
  return `${file}-${name.replace(/[^A-Za-z0-9]+/g, "-")}.${ending}`;
}

function savePng(plot: uPlot, props: Props): void {
  const from = plot.ctx.canvas;
  const scale = devicePixelRatio;
  const title = 26 * scale;
  const sheet = document.createElement("canvas");
  sheet.width = from.width;
  sheet.height = from.height + title;
  const pen = sheet.getContext("2d")!;
  const colour = (variable: string) => colourOf(plot.root, variable);
  pen.fillStyle = colour("--surface");
  pen.fillRect(0, 0, sheet.width, sheet.height);
  pen.fillStyle = colour("--text");
  pen.font = `600 ${13 * scale}px ${getComputedStyle(document.body).fontFamily}`;
  pen.fillText(`${props.file}: ${props.name}`, 12 * scale, 18 * scale);
  pen.drawImage(from, 0, title);
  sheet.toBlob((image) => image && saveAs(fileName(props, "png"), image), "image/png");
}
