// Charts of a few series over time, as SVG of our own: bars that stand on each other, and lines.
import { useState } from "preact/hooks";
import { zone } from "../state/prefs";
import { short, time } from "./format";

export interface Series {
  name: string;
  values: (number | null)[];
  /** The class that gives it its colour; it has a pattern of its own in the legend, too. */
  look: string;
}

/** The least round number that is at least n: 1, 2 or 5 times a power of ten. */
export function nice(n: number): number {
  if (!(n > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  for (const step of [1, 2, 5, 10]) if (n <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}

/** The highest value that a chart shows: of a stack, the highest sum. */
export function top(series: Series[], stacked: boolean): number {
  const n = Math.max(0, ...series.map((s) => s.values.length));
  let most = 0;
  for (let i = 0; i < n; i++) {
    const at = series.map((s) => s.values[i] ?? 0);
    most = Math.max(most, stacked ? at.reduce((a, b) => a + b, 0) : Math.max(...at));
  }
  return nice(most);
}

/** The path of a line, which breaks where there is no value. */
export function linePath(values: (number | null)[], width: number, height: number, most: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = "";
  let pen = false;
  values.forEach((v, i) => {
    if (v === null) {
      pen = false;
      return;
    }
    path += `${pen ? "L" : "M"}${(i * step).toFixed(1)} ${(height - (v / most) * height).toFixed(1)}`;
    if (!pen && (values[i + 1] ?? null) === null) path += "h0.1"; // a dot, where there is no line
    pen = true;
  });
  return path;
}

const W = 600;
const H = 120;

export function Chart({ title, at, series, unit = short, stacked = false }: {
  title: string;
  at: number[];
  series: Series[];
  unit?: (n: number) => string;
  stacked?: boolean;
}) {
  const [seen, see] = useState(-1);
  const most = top(series, stacked);
  const bar = W / Math.max(1, at.length);
  const utc = zone.value === "utc";
  const i = seen >= 0 && seen < at.length ? seen : at.length - 1;
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="faint">{at[i] !== undefined ? time(at[i], utc).slice(0, 16) : ""}</span>
        {series.map((s) => (
          <span key={s.name} class="legend">
            <i class={"swatch " + s.look} aria-hidden="true" /> {s.name} <b class="num">{s.values[i] == null ? "–" : unit(s.values[i] as number)}</b>
          </span>
        ))}
      </figcaption>
      <div class="plot">
        <span class="axis" aria-hidden="true">{unit(most)}</span>
        <svg viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" role="img"
          aria-label={`${title}: ${series.map((s) => `${s.name} at most ${unit(Math.max(0, ...s.values.map((v) => v ?? 0)))}`).join(", ")}`}
          onPointerMove={(e) => see(Math.floor((e.offsetX / e.currentTarget.clientWidth) * at.length))} onPointerLeave={() => see(-1)}>
          <line x1="0" x2={W} y1={H / 2} y2={H / 2} class="grid" />
          {stacked ? bars(series, at.length, bar, most) : series.map((s) => <path key={s.name} d={linePath(s.values, W, H - 2, most)} class={"line " + s.look} />)}
          {seen >= 0 && <rect x={i * bar} width={Math.max(1, bar)} y="0" height={H} class="cursor" />}
        </svg>
      </div>
    </figure>
  );
}

/** A chart as small as a word: its numbers are in its title, and in the chart of the page that its row leads to. */
export function Spark({ series, title }: { series: Series[]; title: string }) {
  const n = Math.max(0, ...series.map((s) => s.values.length));
  return (
    <svg class="spark" viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" role="img" aria-label={title}>
      <title>{title}</title>
      {bars(series, n, W / Math.max(1, n), top(series, true))}
    </svg>
  );
}

function bars(series: Series[], n: number, width: number, most: number) {
  const all = [];
  for (let i = 0; i < n; i++) {
    let y = H;
    for (const s of series) {
      const h = ((s.values[i] ?? 0) / most) * H;
      if (h <= 0) continue;
      y -= h;
      all.push(<rect key={`${s.name} ${i}`} x={i * width + width * 0.1} width={width * 0.8} y={y} height={h} class={"bar " + s.look} />);
    }
  }
  return all;
}

/** Points of the API at each step from a time to another; steps in which nothing happened have none. */
export function steps<T extends { at: string | null }>(points: T[], from: number, to: number, step: number): { at: number[]; of: (T | undefined)[] } {
  const known = new Map(points.map((p) => [Math.floor(Date.parse(p.at ?? "") / step), p]));
  const at: number[] = [];
  const of: (T | undefined)[] = [];
  for (let k = Math.floor(from / step); k <= Math.floor(to / step); k++) {
    at.push(k * step);
    of.push(known.get(k));
  }
  return { at, of };
}
