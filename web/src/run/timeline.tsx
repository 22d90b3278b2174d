// The timeline of a run: a lane for each thing that it has done, over the time that it took.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JournalEntry, JournalMessage } from "../api/schema";
import { now } from "../state/clock";
import { param, set } from "../state/route";
import { Facts, JobLink, Time } from "../ui/basics";
import { duration, number } from "../ui/format";
import { Payload } from "../ui/json";
import { Paged } from "../ui/table";
import { gaps, lanes, scale, ticks, visible, type Bar, type Lane } from "./layout";

const row = 28;

export interface Run {
  entries: JournalEntry[];
  messages: JournalMessage[];
  began: number;
  /** When the job ended; null: it has not. */
  ended: number | null;
}

/** How many times as wide as the box the timeline is: a power of two. */
const mostZoom = 64;
const zoom = () => Math.min(mostZoom, Math.max(1, Number(param("zoom")) || 1));
const zoomTo = (to: number) => set({ zoom: to <= 1 ? "" : String(Math.min(mostZoom, to)) }, true);

const lengthOf = (l: Lane) => (l.bars.at(-1)?.to ?? 0) - (l.bars[0]?.from ?? 0);

export function Timeline({ run }: { run: Run }) {
  const at = run.ended ?? now.value;
  const all = useMemo(() => lanes(run.entries, run.messages, run.ended === null ? at : null), [run.entries, run.messages, run.ended, run.ended ?? Math.floor(at / 1000)]);
  const collapse = param("idle") !== "show";
  const asTable = param("as") === "table";
  const open = param("at");
  const selected = all.find((l) => keyOf(l) === open);
  if (all.length === 0) return <p class="faint pad">The run has remembered nothing yet.</p>;
  return (
    <div class="timeline">
      <div class="toolbar">
        <label class="check"><input type="checkbox" checked={collapse} onChange={(e) => set({ idle: e.currentTarget.checked ? "" : "show" }, true)} /> Collapse idle time</label>
        <label class="check"><input type="checkbox" checked={asTable} onChange={(e) => set({ as: e.currentTarget.checked ? "table" : "" }, true)} /> As a table</label>
        {!asTable && (
          <div class="segments" role="group" aria-label="Zoom">
            <button aria-label="Zoom out" disabled={zoom() === 1} onClick={() => zoomTo(zoom() / 2)}>−</button>
            <button disabled={zoom() === 1} onClick={() => zoomTo(1)}>Fit</button>
            <button aria-label="Zoom in" disabled={zoom() === mostZoom} onClick={() => zoomTo(zoom() * 2)}>+</button>
          </div>
        )}
        <span class="faint">{all.length === 1 ? "1 lane" : number(all.length) + " lanes"} · {duration(at - run.began)}</span>
        <Legend />
      </div>
      {asTable ? <AsTable all={all} /> : <Lanes all={all} from={run.began} to={at} collapse={collapse} selected={open} />}
      {selected && <Details lane={selected} />}
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
    const lane = all[to];
    if (!lane) return;
    e.preventDefault();
    set({ at: keyOf(lane) }, true);
    const y = to * row;
    const b = box.current;
    if (b && (y < b.scrollTop || y + row > b.scrollTop + b.clientHeight - 24)) b.scrollTop = y - b.clientHeight / 2;
  };
  return (
    <div class="lanes" ref={box} tabIndex={0} role="group" aria-label="Timeline; up and down go from lane to lane, plus and minus zoom" onKeyDown={keys}
      onScroll={(e) => setScroll(e.currentTarget.scrollTop)}>
      <div class="time-axis" aria-hidden="true" style={{ width: zoom() * 100 + "%" }}>
        <span class="lane-name" />
        <span class="track">
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
            <span class="track">{l.bars.map((b, n) => <OneBar key={n} bar={b} x={x} pick={() => set({ at: keyOf(l) === selected ? "" : keyOf(l) }, true)} />)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

function OneBar({ bar, x, pick }: { bar: Bar; x: (at: number) => number; pick: () => void }) {
  const left = x(bar.from);
  const words = `${bar.label}${bar.to > bar.from ? ", " + duration(bar.to - bar.from) : ""}`;
  return (
    <button class={"bar-" + bar.look} style={{ left: left * 100 + "%", width: `max(6px, ${(x(bar.to) - left) * 100}%)` }} aria-label={words} title={words} tabIndex={-1}
      onClick={pick} />
  );
}

function Details({ lane }: { lane: Lane }) {
  return (
    <section class="details" aria-label={"Details of " + lane.name}>
      <header>
        <h3>{lane.name}</h3>
        <button class="quiet" onClick={() => set({ at: "" }, true)}>Close</button>
      </header>
      <Facts of={[
        ["Kind", lane.kind], ["Place", lane.path], ["Took", duration(lengthOf(lane))],
        ["Began", <Time key="t" at={new Date(lane.bars[0]?.from ?? 0).toISOString()} precise />],
        ["Job", lane.job && <JobLink id={lane.job} />],
      ]} />
      <ol class="plain">{lane.bars.map((b, i) => <li key={i}><i class={"swatch bar-" + b.look} aria-hidden="true" /> {b.label} {b.to > b.from && <span class="faint">{duration(b.to - b.from)}</span>}</li>)}</ol>
      {lane.entries.filter((e) => e.data !== null && e.data !== undefined).map((e) => (
        <div key={e.seq}><p class="faint">{e.seq} · {e.kind}</p><Payload value={e.data} name="data" /></div>
      ))}
    </section>
  );
}

function AsTable({ all }: { all: Lane[] }) {
  return (
    <Paged caption="What the run has done" rows={all} size={200} id={keyOf} columns={[
      { name: "Place", cell: (l) => <span class="mono">{l.path}</span> },
      { name: "Name", cell: (l) => l.name },
      { name: "Kind", cell: (l) => l.kind },
      { name: "Began", cell: (l) => <Time at={new Date(l.bars[0]?.from ?? 0).toISOString()} precise /> },
      { name: "Took", num: true, cell: (l) => duration(lengthOf(l)) },
      { name: "What", cell: (l) => l.bars.at(-1)?.label },
    ]} />
  );
}
