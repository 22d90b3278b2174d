// What a run has done, as lanes of bars over time. Pure: from entries of the journal to numbers.
import type { JournalEntry, JournalMessage } from "../api/schema";
import { duration, number, parseDuration } from "../ui/format";

export type Look = "done" | "failed" | "retry" | "wait" | "open" | "mark";

export interface Bar {
  from: number;
  to: number;
  look: Look;
  /** What it is, in words: it is read out, and shown beside the bar. */
  label: string;
}

export interface Lane {
  path: string;
  name: string;
  kind: "step" | "timer" | "signal" | "child" | "callback" | "value" | "published" | "other";
  bars: Bar[];
  entries: JournalEntry[];
  /** The job of a child. */
  job?: string;
}

const kinds = new Map<string, Lane["kind"]>(Object.entries({
  step: "step", "step retry": "step", "step failed": "step", timer: "timer", timeout: "timer", received: "signal", child: "child",
  callback: "callback", value: "value", published: "published", streamed: "published", updated: "signal",
} as const));

const ms = (text: string | null | undefined): number => Date.parse(text ?? "");

interface Data {
  until?: string;
  id?: string;
  name?: string;
  failure?: { message?: string };
  message?: string;
}

const dataOf = (e: JournalEntry): Data => (typeof e.data === "object" && e.data !== null ? (e.data as Data) : {});

/** The lanes of a run, in the order in which they began. now is for what is not over, and null when the run is. */
export function lanes(entries: JournalEntry[], messages: JournalMessage[], now: number | null): Lane[] {
  const all = new Map<string, Lane>();
  const ends = new Map<string, JournalMessage>();
  for (const m of messages) {
    if (m.kind === "child" && m.from) ends.set(m.from, m);
    if ((m.kind === "callback" || m.kind === "callback failed") && m.name) ends.set(m.name, m);
  }
  const sent = new Map(messages.map((m) => [m.seq, m]));
  const before = new Map<string, number>(); // when the operation before ended, of each strand
  for (const e of entries) {
    const kind = kinds.get(e.kind) ?? "other";
    // What clients are told has a lane for each key, however often it is told.
    const key = kind === "published" ? `${e.kind} ${e.name}` : (e.path || `${e.kind} ${e.seq}`);
    let lane = all.get(key);
    if (!lane) {
      lane = { path: e.path, name: kind === "callback" ? e.kind : (e.name ?? e.kind), // the name of a callback is its token
        kind, bars: [], entries: [] };
      all.set(key, lane);
    }
    if (kind === "signal" && lane.kind === "timer") lane.kind = "signal"; // its time limit came first
    if (e.name && lane.name === lane.entries[0]?.kind) lane.name = e.name;
    lane.entries.push(e);
    const strand = strandOf(e.path);
    add(lane, e, { now, ends, sent, before: before.get(strand) ?? NaN });
    before.set(strand, ms(e.at));
  }
  return [...all.values()].sort((a, b) => (begin(a) < begin(b) ? -1 : begin(a) > begin(b) ? 1 : 0));
}

/** The strand of a place: 2.1 is the first operation of the one that began at place 2. */
const strandOf = (path: string) => path.replace(/[^.]*$/, "");

/** A lane of which no time is known comes last. */
const begin = (l: Lane) => l.bars[0]?.from ?? Infinity;

interface Known {
  now: number | null;
  /** The messages of ends, by the job of a child or the token of a callback. */
  ends: Map<string, JournalMessage>;
  sent: Map<string | null, JournalMessage>;
  /** When the operation before it ended, in milliseconds; NaN: it is the first one. */
  before: number;
}

function add(lane: Lane, e: JournalEntry, k: Known): void {
  const at = ms(e.at);
  const took = parseDuration(e.took);
  const from = Number.isNaN(took) ? at : at - took;
  const data = dataOf(e);
  const last = lane.bars.at(-1);
  const bar = (look: Look, label: string, a = from, b = at) => {
    if (!(Math.abs(a) <= 8.64e15)) return; // no time, or none that a calendar has: that cannot be drawn
    lane.bars.push({ from: a, to: b >= a ? b : a, look, label }); // b is NaN where data is hidden
  };
  switch (e.kind) {
    case "step":
      bar("done", `${lane.name} done`);
      break;
    case "step failed":
      bar("failed", `${lane.name} failed: ${data.message ?? ""}`);
      break;
    case "step retry":
      bar("retry", `${lane.name} failed, and is tried again: ${data.failure?.message ?? ""}`);
      if (data.until) bar("wait", `${lane.name} waits for its next try`, at, ms(data.until));
      break;
    case "timer":
      bar(k.now !== null && ms(data.until) > k.now ? "open" : "wait", e.name ? `waits for ${e.name}` : "sleeps", at, ms(data.until));
      break;
    case "timeout":
      if (last?.look === "wait" || last?.look === "open") Object.assign(last, { to: at, look: "wait" });
      bar("mark", `${lane.name} timed out`, at);
      break;
    case "received": {
      const message = k.sent.get(e.message ?? null);
      if (last?.look === "wait" || last?.look === "open") Object.assign(last, { to: at, look: "wait" });
      // When a wait without a limit began is not recorded: not before the end of the operation before it.
      else if (k.before <= at) bar("wait", `waited for ${lane.name}, at most`, k.before, at);
      else if (message) bar("wait", `${lane.name} was sent`, Math.min(at, ms(message.at)), at);
      bar("mark", `received ${lane.name}`, at);
      break;
    }
    case "child": {
      const id = data.id ?? "";
      const end = k.ends.get(id);
      lane.job = id;
      if (end) bar(end.state === "completed" ? "done" : "failed", `${lane.name} ${end.state}`, at, ms(end.at));
      else bar("open", `${lane.name} is under way`, at, k.now ?? at);
      break;
    }
    case "callback":
      if (data.name) lane.name = data.name;
      bar("mark", `token for ${lane.name}`, at);
      answer(e, at, bar, lane, k);
      break;
    default:
      bar("mark", `${e.kind} ${e.name ?? ""}`.trim(), from);
  }
}

/** The wait for the answer to a callback. When it ended without one is not recorded. */
function answer(e: JournalEntry, at: number, bar: (look: Look, label: string, a: number, b: number) => void, lane: Lane, k: Known): void {
  const end = k.ends.get(e.name ?? "");
  if (!end) return k.now === null ? undefined : bar("open", `waits for ${lane.name}`, at, k.now);
  bar("wait", `${lane.name} ${end.kind === "callback" ? "was answered" : "failed"}`, at, ms(end.at));
}

/** The lanes with one for each thing that the run waits for now, if none is there: a wait without a limit has no entry until it is over. */
export function withWaits(all: Lane[], names: string[], since: number, now: number): Lane[] {
  const known = new Set(all.filter((l) => l.bars.at(-1)?.look === "open").map((l) => l.name));
  const more = names.filter((n) => !known.has(n)).map((name): Lane => ({
    path: "", name, kind: "signal", entries: [], bars: Number.isFinite(since) ? [{ from: since, to: Math.max(since, now), look: "open", label: `waits for ${name}` }] : [],
  }));
  return [...all, ...more];
}

/** From how many on children that one operation started are one lane. */
const crowd = 10;

/** The lanes, with those of many children that one operation started as one. */
export function folded(all: Lane[]): Lane[] {
  const groups = new Map<string, Lane[]>();
  for (const l of all) {
    const key = l.kind === "child" && l.path.includes(".") ? `${strandOf(l.path)} ${l.name}` : "";
    if (!key) continue;
    const group = groups.get(key) ?? [];
    group.push(l);
    groups.set(key, group);
  }
  const heads = new Map<Lane, Lane[]>();
  const gone = new Set<Lane>();
  for (const group of groups.values()) {
    if (group.length < crowd) continue;
    heads.set(group[0] as Lane, group);
    for (const l of group.slice(1)) gone.add(l);
  }
  return all.filter((l) => !gone.has(l)).map((l) => {
    const group = heads.get(l);
    return group ? { path: strandOf(l.path) + "*", name: `${l.name} × ${number(group.length)}`, kind: l.kind, bars: group.flatMap((one) => one.bars), entries: group.flatMap((one) => one.entries) } : l;
  });
}

const isWait = (b: Bar) => b.look === "wait" || b.look === "open";

/**
 * From when to when a timeline is: of the job, and of all that has happened, since clocks of the
 * database, of nodes and of the server differ. The end of a wait has not happened: it may be planned.
 */
export function extent(all: Lane[], began: number, ended: number): { from: number; to: number } {
  let [from, to] = [Number.isFinite(began) ? began : Infinity, Number.isFinite(ended) ? ended : -Infinity];
  for (const b of all.flatMap((l) => l.bars)) {
    from = Math.min(from, b.from);
    to = Math.max(to, isWait(b) ? b.from : b.to);
  }
  if (!Number.isFinite(from)) from = Number.isFinite(to) ? to : 0;
  return { from, to: Math.max(from, to) };
}

/** How long a lane was at it, up to the end of the run, or to now: a timer may be set for later. */
export function lengthOf(l: Lane, end: number): number {
  const last = l.bars.reduce((to, b) => Math.max(to, b.to), -Infinity);
  return l.bars[0] ? Math.max(0, Math.min(last, end) - l.bars[0].from) : NaN;
}

/** A bar in words, with its length; of a wait that ends after the end of what is shown, both. */
export function caption(b: Bar, end: number): string {
  if (b.to <= b.from) return b.label;
  if (b.to <= end) return `${b.label}, ${duration(b.to - b.from)}`;
  return `${b.label}, ${duration(Math.max(0, end - b.from))} of ${duration(b.to - b.from)}`;
}

/** The bars that are drawn: those of one look that begin in one of so many parts of the width are one. */
export function merged(bars: Bar[], x: (at: number) => number, parts: number): Bar[] {
  const all = new Map<string, { bar: Bar; n: number }>();
  for (const b of bars) {
    const key = `${Math.min(parts - 1, Math.floor(x(b.from) * parts))} ${b.look}`;
    const known = all.get(key);
    if (!known) {
      all.set(key, { bar: b, n: 1 });
      continue;
    }
    known.bar = { ...known.bar, from: Math.min(known.bar.from, b.from), to: Math.max(known.bar.to, b.to) };
    known.n++;
  }
  return [...all.values()].map(({ bar, n }) => (n === 1 ? bar : { ...bar, label: `${bar.label}, and ${n - 1} more` }));
}

export interface Gap {
  from: number;
  to: number;
}

/** The times in which nothing was at work, of at least a share of the whole, and at least of a length. */
export function gaps(all: Lane[], from: number, to: number, share = 0.05, least = 30_000): Gap[] {
  const busy = all.flatMap((l) => l.bars).filter((b) => !isWait(b)).sort((a, b) => a.from - b.from);
  const idle: Gap[] = [];
  let end = from;
  const min = Math.max(least, share * (to - from));
  for (const b of [...busy, { from: to, to }]) {
    if (b.from - end >= min) idle.push({ from: end, to: Math.min(b.from, to) });
    end = Math.max(end, b.to);
  }
  return idle;
}

/** Where a time is drawn, from 0 to 1. Gaps that are collapsed take a fixed share each. */
export function scale(from: number, to: number, idle: Gap[], each = 0.04): (at: number) => number {
  const cut = idle.reduce((sum, g) => sum + (g.to - g.from), 0);
  const rest = Math.max(1, to - from - cut);
  const fixed = Math.min(0.5, each * idle.length);
  const per = idle.length > 0 ? fixed / idle.length : 0;
  return (at) => {
    const t = Math.min(to, Math.max(from, at));
    let share = 0;
    let gone = 0;
    for (const g of idle) {
      if (t <= g.from) break;
      const inside = Math.min(1, (t - g.from) / (g.to - g.from));
      share += inside * per;
      gone += Math.min(t, g.to) - g.from;
    }
    return share + ((t - from - gone) / rest) * (1 - fixed);
  };
}

/** Times for an axis: round steps, at most n, none in a gap. */
export function ticks(from: number, to: number, idle: Gap[], n = 8): number[] {
  const span = to - from - idle.reduce((sum, g) => sum + (g.to - g.from), 0);
  const sizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3,
    21_600e3, 43_200e3, 86_400e3];
  const step = sizes.find((s) => span / s <= n) ?? Math.ceil(span / n / 86_400e3) * 86_400e3;
  const all: number[] = [];
  let at = from;
  while (at <= to && all.length < 4 * n) {
    const gap = idle.find((g) => at > g.from && at < g.to);
    if (gap) {
      at = from + Math.ceil((gap.to - from) / step) * step;
      continue;
    }
    all.push(at);
    at += step;
  }
  return all;
}

/** The rows of a long list that are seen, with some beyond both ends. */
export function visible(scroll: number, height: number, row: number, count: number, beyond = 10): [number, number] {
  const first = Math.max(0, Math.floor(scroll / row) - beyond);
  return [first, Math.min(count, Math.ceil((scroll + height) / row) + beyond)];
}
