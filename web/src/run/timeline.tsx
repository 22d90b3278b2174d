// The timeline of a run: a lane for each thing that it has done, over the time that it took.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JournalEntry, JournalMessage } from "../api/schema";
import { now } from "../state/clock";
import { param, set } from "../state/route";
import { may } from "../state/session";
import { Action, type Ask } from "../ui/action";
import { Facts, JobLink, Time } from "../ui/basics";
import { duration, number } from "../ui/format";
import { Payload } from "../ui/json";
import { Paged } from "../ui/table";
import { bySeq, dataOf, withoutTokens } from "./file";
import { caption, extent, folded, gaps, lanes, lengthOf, merged, scale, ticks, visible, withWaits, type Bar, type Lane } from "./layout";

const row = 28;

export interface Run {
  entries: JournalEntry[];
  messages: JournalMessage[];
  began: number;
  /** When the job ended; null: it has not. */
  ended: number | null;
  /** What it waits for now, and since when. */
  waits?: { names: string[]; since: number };
}

/** How many times as wide as the box the timeline is: a power of two. */
const mostZoom = 64;
const zoom = () => Math.min(mostZoom, Math.max(1, Number(param("zoom")) || 1));
const zoomTo = (to: number) => set({ zoom: to <= 1 ? "" : String(Math.min(mostZoom, to)) }, true);

/** Into how many parts a track is divided, at no zoom: bars that begin in one part are drawn as one. */
const parts = 120;

/** How many bars, and how many payloads, the details show at once. */
const mostDetails = 20;

/** When a lane began, if that is known. */
const beganAt = (l: Lane) => (l.bars[0] ? new Date(l.bars[0].from).toISOString() : null);

export function Timeline({ run, fork }: { run: Run; /** Asks for a new job that begins with what this one did before a place. */ fork?: (place: string) => Ask }) {
  const [seenAt, look] = useState<number | null>(null); // while somebody points at it the scale stays
  const at = run.ended ?? seenAt ?? now.value;
  const mayAnswer = may("jobs:write");
  const story = useMemo(() => (mayAnswer ? run : withoutTokens(run)), [run.entries, run.messages, mayAnswer]);
  const each = useMemo(() => {
    const of = lanes(story.entries, story.messages, run.ended === null ? at : null);
    return run.waits ? withWaits(of, run.waits.names, run.waits.since, at) : of;
  }, [story, run.waits?.since, run.waits?.names.join(), run.ended, run.ended ?? Math.floor(at / 1000)]);
  const fewer = useMemo(() => folded(each), [each]);
  const all = param("fold") === "no" ? each : fewer;
  const { from, to } = extent(all, run.began, at);
  const collapse = param("idle") !== "show";
  const asTable = param("as") === "table";
  const open = param("at");
  const selected = all.find((l) => keyOf(l) === open);
  if (all.length === 0) return <p class="faint pad">The run has remembered nothing yet.</p>;
  return (
    <div class="timeline">
      <div class="toolbar">
        <label class="check"><input type="checkbox" checked={collapse} onChange={(e) => set({ idle: e.currentTarget.checked ? "" : "show" }, true)} /> Collapse idle time</label>
        {fewer.length < each.length && <label class="check"><input type="checkbox" checked={all === fewer} onChange={(e) => set({ fold: e.currentTarget.checked ? "" : "no", at: "" }, true)} /> Fold what is alike</label>}
        <label class="check"><input type="checkbox" checked={asTable} onChange={(e) => set({ as: e.currentTarget.checked ? "table" : "" }, true)} /> As a table</label>
        {!asTable && (
          <div class="segments" role="group" aria-label="Zoom">
            <button aria-label="Zoom out" disabled={zoom() === 1} onClick={() => zoomTo(zoom() / 2)}>−</button>
            <button disabled={zoom() === 1} onClick={() => zoomTo(1)}>Fit</button>
            <button aria-label="Zoom in" disabled={zoom() === mostZoom} onClick={() => zoomTo(zoom() * 2)}>+</button>
          </div>
        )}
        <span class="faint">{all.length === 1 ? "1 lane" : number(all.length) + " lanes"} · {duration(to - from)}</span>
        <Legend />
      </div>
      <div onPointerEnter={() => look(now.peek())} onPointerLeave={() => look(null)}>
        {asTable ? <AsTable all={all} end={to} /> : <Lanes all={all} from={from} to={to} collapse={collapse} selected={open} />}
      </div>
      {selected && <Details key={open} lane={selected} end={to} messages={story.messages} fork={fork} />}
    </div>
  );
}

const keyOf = (l: Lane) => l.path || l.entries[0]?.seq || l.name;

function Legend() {
  const looks: [string, string][] = [["done", "done"], ["failed", "failed"], ["retry", "failed, tried again"], ["wait", "waited"], ["open", "under way"], ["mark", "happened"]];
  return <span class="looks">{looks.map(([look, name]) => <span key={look}><i class={"swatch bar-" + look} aria-hidden="true" /> {name}</span>)}</span>;
}

function Lanes({ all, from, to, collapse, selected }: { all: Lane[]; from: number; to: number; collapse: boolean; selected: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(600);
  const [part, setPart] = useState<Part | null>(null);
  useEffect(() => {
    if (box.current) setHeight(box.current.clientHeight);
  }, []);
  const idle = collapse ? gaps(all, from, to) : [];
  const x = scale(from, to, idle);
  const [first, end] = visible(scroll, height, row, all.length);
  const keys = (e: KeyboardEvent) => {
    const i = all.findIndex((l) => keyOf(l) === selected);
    const to = e.key === "ArrowDown" ? i + 1 : e.key === "ArrowUp" ? i - 1 : e.key === "Home" ? 0 : e.key === "End" ? all.length - 1 : -1;
    if (e.key === "Escape") return set({ at: "" }, true);
    if (e.key === "+") return zoomTo(zoom() * 2);
    if (e.key === "-") return zoomTo(zoom() / 2);
    if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      e.preventDefault();
      return box.current?.scrollBy({ left: (e.key === "ArrowLeft" ? -0.2 : 0.2) * box.current.clientWidth });
    }
    const lane = all[to];
    if (!lane) return;
    e.preventDefault();
    set({ at: keyOf(lane) }, true);
    const y = to * row;
    const b = box.current;
    if (b && (y < b.scrollTop || y + row > b.scrollTop + b.clientHeight - 24)) b.scrollTop = y - b.clientHeight / 2;
  };
  return (
    <div class="lanes" ref={box} tabIndex={0} role="group" aria-label="Timeline; up and down go from lane to lane, left and right pan, plus and minus zoom" onKeyDown={keys} onPointerDown={drag}
      onScroll={(e) => setScroll(e.currentTarget.scrollTop)}>
      <div class="time-axis" aria-hidden="true" style={{ width: zoom() * 100 + "%" }}>
        <span class="lane-name" />
        <span class="track" title="Drag over a part to zoom into it" onPointerDown={(e) => brush(e, box.current, setPart)}>
          {part && <span class="part" style={{ left: part[0] * 100 + "%", width: (part[1] - part[0]) * 100 + "%" }} />}
          {ticks(from, to, idle, (innerWidth < 640 ? 3 : 8) * zoom()).map((t) => <span key={t} class="tick" style={{ left: x(t) * 100 + "%" }}>{t === from ? "0" : duration(t - from)}</span>)}
        </span>
      </div>
      <div class="lanes-all" style={{ height: all.length * row + "px", width: zoom() * 100 + "%" }}>
        <div class="idle-all" aria-hidden="true">
          <span class="lane-name" />
          <span class="track">
            {idle.map((g) => <span key={g.from} class="idle" style={{ left: x(g.from) * 100 + "%", width: (x(g.to) - x(g.from)) * 100 + "%" }} title={duration(g.to - g.from) + " idle"} />)}
          </span>
        </div>
        {all.slice(first, end).map((l, i) => (
          <div key={keyOf(l)} class={"lane" + (keyOf(l) === selected ? " current" : "")} style={{ top: (first + i) * row + "px" }}>
            <span class="lane-name" title={l.name}><i class={"kind " + l.kind} aria-hidden="true" />{l.name}</span>
            <span class="track">{merged(l.bars, x, parts * zoom()).map((b, n) => <OneBar key={n} bar={b} x={x} end={to} pick={() => set({ at: keyOf(l) === selected ? "" : keyOf(l) }, true)} />)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

/** A part of the axis, from 0 to 1. */
type Part = [from: number, to: number];

/** How many pixels are dragged before a part is meant. */
const leastDrag = 8;

/** Zooms into the part of the axis over which the mouse is dragged, as far as zooming goes by halves. */
function brush(e: PointerEvent, box: HTMLElement | null, show: (part: Part | null) => void): void {
  if (e.pointerType !== "mouse" || e.button !== 0 || !box) return;
  e.stopPropagation(); // the lanes are moved, the axis is not
  e.preventDefault(); // its texts are not selected
  const { left, width } = (e.currentTarget as HTMLElement).getBoundingClientRect();
  const at = (x: number) => Math.min(1, Math.max(0, (x - left) / width));
  const partTo = (x: number): Part => [at(Math.min(e.clientX, x)), at(Math.max(e.clientX, x))];
  const end = new AbortController();
  const over = (x: number | null) => {
    end.abort();
    show(null);
    if (x === null || Math.abs(x - e.clientX) < leastDrag) return;
    const [from, to] = partTo(x);
    zoomTo(Math.max(zoom(), 2 ** Math.floor(Math.log2(1 / (to - from)))));
    requestAnimationFrame(() => { box.scrollLeft = from * (box.querySelector(".time-axis .track")?.clientWidth ?? 0); });
  };
  addEventListener("pointermove", (m) => show(partTo(m.clientX)), { signal: end.signal });
  addEventListener("pointerup", (u) => over(u.clientX), { signal: end.signal });
  for (const lost of ["pointercancel", "blur"]) addEventListener(lost, () => over(null), { signal: end.signal });
}

/** Moves what is seen with the mouse, from where it is pressed beside a bar. A finger does that by itself. */
function drag(e: PointerEvent): void {
  const box = e.currentTarget as HTMLElement;
  const on = e.target as Element;
  if (e.pointerType !== "mouse" || e.button !== 0 || on.closest("button, .lane-name") || !on.closest(".lane")) return;
  const [x, left] = [e.clientX, box.scrollLeft];
  const move = (m: PointerEvent) => { box.scrollLeft = left + x - m.clientX; };
  const end = new AbortController();
  addEventListener("pointermove", move, { signal: end.signal });
  for (const over of ["pointerup", "pointercancel", "blur"]) addEventListener(over, () => end.abort(), { signal: end.signal });
}

function OneBar({ bar, x, end, pick }: { bar: Bar; x: (at: number) => number; end: number; pick: () => void }) {
  const left = x(bar.from);
  const words = caption(bar, end);
  return (
    <button class={"bar-" + bar.look} style={{ left: left * 100 + "%", width: `max(6px, ${(x(bar.to) - left) * 100}%)` }} aria-label={words} title={words} tabIndex={-1}
      onClick={pick} />
  );
}

/** Part of a list, and buttons for those before and after it. */
function usePart<T>(of: T[], name: string) {
  const [from, setFrom] = useState(0);
  const nav = of.length > mostDetails && (
    <nav class="pages" aria-label={"Pages of " + name}>
      <button disabled={from === 0} onClick={() => setFrom(Math.max(0, from - mostDetails))}>← Earlier</button>
      <span class="faint">{number(from + 1)} to {number(Math.min(from + mostDetails, of.length))} of {number(of.length)} {name}</span>
      <button disabled={from + mostDetails >= of.length} onClick={() => setFrom(from + mostDetails)}>Later →</button>
    </nav>
  );
  return { part: of.slice(from, from + mostDetails), nav };
}

/** The job that an entry has started. */
const childOf = (e: JournalEntry) => (e.kind === "child" ? ((e.data as { id?: string } | null)?.id ?? null) : null);

function Details({ lane, end, messages, fork }: { lane: Lane; end: number; messages: JournalMessage[]; fork?: (place: string) => Ask }) {
  const bars = usePart(lane.bars, "bars");
  const sent = useMemo(() => bySeq(messages), [messages]);
  const has = (e: JournalEntry) => dataOf(e, sent);
  const data = usePart(lane.entries.filter((e) => has(e) !== null && has(e) !== undefined), "payloads");
  return (
    <section class="details" aria-label={"Details of " + lane.name}>
      <header>
        <h3>{lane.name}</h3>
        <span class="grow" />
        {fork && lane.path && <Action quiet ask={fork(lane.path)}>Fork from here…</Action>}
        <button class="quiet" onClick={() => set({ at: "" }, true)}>Close</button>
      </header>
      <Facts of={[
        ["Kind", lane.kind], ["Place", lane.path], ["Took", duration(lengthOf(lane, end))],
        ["Began", <Time key="t" at={beganAt(lane)} precise />],
        ["Job", lane.job && <JobLink id={lane.job} />],
      ]} />
      <ol class="plain">{bars.part.map((b, i) => <li key={i}><i class={"swatch bar-" + b.look} aria-hidden="true" /> {caption(b, end)}</li>)}</ol>
      {bars.nav}
      {data.part.map((e) => (
        <div key={e.seq}><p class="faint">{e.seq} · {e.kind} {childOf(e) && <JobLink id={childOf(e)} />}</p><Payload value={has(e)} name="data" /></div>
      ))}
      {data.nav}
    </section>
  );
}

function AsTable({ all, end }: { all: Lane[]; end: number }) {
  return (
    <Paged caption="What the run has done" rows={all} size={200} id={keyOf} columns={[
      { name: "Place", cell: (l) => <span class="mono">{l.path}</span> },
      { name: "Name", cell: (l) => l.name },
      { name: "Kind", cell: (l) => l.kind },
      { name: "Began", cell: (l) => <Time at={beganAt(l)} precise /> },
      { name: "Took", num: true, cell: (l) => duration(lengthOf(l, end)) },
      { name: "What", cell: (l) => l.bars.at(-1)?.label },
    ]} />
  );
}
