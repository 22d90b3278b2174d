// A history as a file: what "holdfast job journal --output json" prints too, and holdfasttest.Replay
// plays again; it can be opened in a page where its server is not.
import { parse } from "../api/http";
import { parseDuration } from "../ui/format";
import type { Job, JournalEntry, JournalMessage } from "../api/schema";

/** What is known of the job itself. The command does not tell its state and times. */
export type RunFacts = Pick<Job, "id" | "kind" | "args" | "state" | "created_at" | "finished_at">;

export interface HistoryFile {
  job?: RunFacts;
  entries: JournalEntry[];
  messages: JournalMessage[];
}

export const runOf = ({ id, kind, args, state, created_at, finished_at }: Job): RunFacts => ({ id, kind, args, state, created_at, finished_at });

/** Without what is null, as the command leaves out what is not there. */
const full = (o: object) => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== null && v !== undefined));
const whole = (n: string | null) => (n === null ? null : Number(n));

/** The text of the file. */
export function fileOf({ job, entries, messages }: HistoryFile): string {
  return JSON.stringify({
    ...(job && { job: job.id, kind: job.kind, args: job.args, state: job.state, created_at: job.created_at, finished_at: job.finished_at }),
    entries: entries.map(({ took, ...e }) => full({ ...e, seq: whole(e.seq), message: whole(e.message), lease: whole(e.lease), took_ns: took && Math.round(parseDuration(took) * 1e6) })),
    messages: messages.map((m) => full({ ...m, seq: whole(m.seq) })),
  }, null, 2);
}

type Loose = Record<string, unknown>;
const isObject = (v: unknown): v is Loose => typeof v === "object" && v !== null && !Array.isArray(v);
const text = (v: unknown) => (typeof v === "string" ? v : typeof v === "number" ? String(v) : null);

function entryOf(v: unknown, i: number): JournalEntry {
  if (!isObject(v) || typeof v.kind !== "string") throw new Error(`Entry ${i + 1} has no kind: that is no history.`);
  if (Number.isNaN(Date.parse(text(v.at) ?? ""))) throw new Error(`Entry ${i + 1} (${v.kind}) has no time in “at”: that is no history.`);
  return {
    at: text(v.at), data: v.data ?? null, kind: v.kind, lease: text(v.lease), message: text(v.message), name: text(v.name), path: text(v.path) ?? "",
    seq: text(v.seq) ?? String(i + 1), took: typeof v.took_ns === "number" ? v.took_ns / 1e6 + "ms" : text(v.took),
  };
}

function messageOf(v: unknown, i: number): JournalMessage {
  if (!isObject(v) || typeof v.kind !== "string") throw new Error(`Message ${i + 1} has no kind: that is no history.`);
  return {
    at: text(v.at), data: v.data ?? null, error: text(v.error), from: text(v.from), kind: v.kind, name: text(v.name), reason: text(v.reason),
    seq: text(v.seq) ?? String(i + 1), state: text(v.state), unread: v.unread === true,
  };
}

/** The history in a file. It throws an error that says what is wrong. */
export function historyOf(file: string): HistoryFile {
  let v: unknown;
  try {
    v = parse(file);
  } catch (error) {
    throw new Error("That is no JSON: " + (error as Error).message);
  }
  const o = (Array.isArray(v) ? { entries: v } : v ?? {}) as Loose;
  if (!Array.isArray(o.entries)) throw new Error("That is no history: it has no list of entries.");
  const job = typeof o.job === "string"
    ? { id: o.job, kind: text(o.kind) ?? "", args: o.args ?? null, state: text(o.state) ?? "", created_at: text(o.created_at), finished_at: text(o.finished_at) } : undefined;
  return { job, entries: o.entries.map(entryOf), messages: Array.isArray(o.messages) ? o.messages.map(messageOf) : [] };
}

type Story = Pick<HistoryFile, "entries" | "messages">;

const nameIn = (e: JournalEntry) => (isObject(e.data) && typeof e.data.name === "string" ? e.data.name : "callback");

/** The name that a person reads: of a callback its own, and not its token. */
export const nameOf = (e: JournalEntry): string | null => (e.kind === "callback" ? nameIn(e) : e.name);

/** What an entry has with it: its own data, or that of the message that it has received. */
export function dataOf(e: JournalEntry, messages: Map<string | null, JournalMessage>): unknown {
  if (e.data !== null && e.data !== undefined) return e.data;
  const m = e.message ? messages.get(e.message) : undefined;
  return m?.error ?? m?.data;
}

/** Messages by their numbers. */
export const bySeq = (messages: JournalMessage[]) => new Map(messages.map((m) => [m.seq, m]));

/**
 * A history without the tokens of its callbacks, for those who may not answer them: a token is a credential. Each has a stand-in,
 * the same in the entry, in the messages and wherever else it stands. So a file without tokens can be shown, and replayed: a replay
 * takes the token from the entry, and looks for the answer under it. It cannot be used to answer a callback, nor by code whose
 * steps depend on what a token is.
 */
export function withoutTokens<T extends Story>(of: T): T {
  const standIns = new Map<string, string>();
  for (const e of of.entries) if (e.kind === "callback" && e.name) standIns.set(e.name, `${nameIn(e)} (token hidden, entry ${e.seq})`);
  const other = "(token hidden)";
  const clean = (s: string) => standIns.get(s) ?? s.replace(/hfc_[\w-]+/g, (token) => standIns.get(token) ?? other);
  const cleanName = (s: string | null) => s && clean(s);
  return {
    ...of,
    entries: of.entries.map((e) => ({ ...e, name: cleanName(e.name), data: eachText(e.data, clean) })),
    messages: of.messages.map((m) => ({ ...m, name: cleanName(m.name), data: eachText(m.data, clean), error: cleanName(m.error), reason: cleanName(m.reason) })),
    ...("job" in of && of.job ? { job: { ...(of.job as RunFacts), args: eachText((of.job as RunFacts).args, clean) } } : {}),
  };
}

/** A value with each text in it changed. Exact numbers, which have no prototype, stay what they are. */
function eachText(v: unknown, change: (s: string) => string): unknown {
  if (typeof v === "string") return change(v);
  if (Array.isArray(v)) return v.map((one) => eachText(one, change));
  if (!isObject(v) || Object.getPrototypeOf(v) === null) return v;
  return Object.fromEntries(Object.entries(v).map(([name, one]) => [change(name), eachText(one, change)]));
}

/** From when to when the history is: of the job if that is known, else of its entries. */
export function spanOf(h: HistoryFile): { began: number; ended: number } {
  const times = [...h.entries, ...h.messages].map((e) => Date.parse(e.at ?? "")).filter((t) => !Number.isNaN(t));
  const first = times.reduce((a, b) => Math.min(a, b), Infinity);
  const last = times.reduce((a, b) => Math.max(a, b), -Infinity);
  const of = (at: string | null | undefined, other: number) => (at && !Number.isNaN(Date.parse(at)) ? Date.parse(at) : Number.isFinite(other) ? other : 0);
  return { began: of(h.job?.created_at, first), ended: of(h.job?.finished_at, last) };
}
