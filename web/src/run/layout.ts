// What a run has done, as lanes of bars over time. Pure: from entries of the journal to numbers.
import type { JournalEntry, JournalMessage } from "../api/schema";
import { parseDuration } from "../ui/format";

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

const kinds: Record<string, Lane["kind"]> = {
  step: "step", "step retry": "step", "step failed": "step", timer: "timer", timeout: "timer", received: "signal", child: "child",
  callback: "callback", value: "value", published: "published", streamed: "published", updated: "signal",
};

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
  for (const m of messages) if (m.kind === "child" && m.from) ends.set(m.from, m);
  const sent = new Map(messages.map((m) => [m.seq, m]));
  for (const e of entries) {
    const kind = kinds[e.kind] ?? "other";
    // What clients are told has a lane for each key, however often it is told.
    const key = kind === "published" ? `${e.kind} ${e.name}` : (e.path || `${e.kind} ${e.seq}`);
    let lane = all.get(key);
    if (!lane) {
      lane = { path: e.path, name: e.name ?? e.kind, kind, bars: [], entries: [] };
      all.set(key, lane);
    }
    if (kind === "signal" && lane.kind === "timer") lane.kind = "signal"; // its time limit came first
    if (e.name && lane.name === lane.entries[0]?.kind) lane.name = e.name;
    lane.entries.push(e);
    add(lane, e, { now, ends, sent });
  }
  return [...all.values()].sort((a, b) => begin(a) - begin(b));
}

const begin = (l: Lane) => l.bars[0]?.from ?? 0;

interface Known {
  now: number | null;
  ends: Map<string, JournalMessage>;
  sent: Map<string | null, JournalMessage>;
}

function add(lane: Lane, e: JournalEntry, k: Known): void {
  const at = ms(e.at);
  const took = parseDuration(e.took);
  const from = Number.isNaN(took) ? at : at - took;
  const data = dataOf(e);
  const last = lane.bars.at(-1);
  const bar = (look: Look, label: string, a = from, b = at) => lane.bars.push({ from: a, to: b >= a ? b : a, look, label }); // b is NaN where data is hidden
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
      break;
    default:
      bar("mark", `${e.kind} ${e.name ?? ""}`.trim(), from);
  }
}

export interface Gap {
  from: number;
  to: number;
}

/** The times in which nothing was at work, of at least a share of the whole, and at least of a length. */
export function gaps(all: Lane[], from: number, to: number, share = 0.05, least = 30_000): Gap[] {
  const busy = all.flatMap((l) => l.bars).filter((b) => b.look !== "wait" && b.look !== "open").sort((a, b) => a.from - b.from);
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
