/** The functions of the golden files of the journal's format, and runs that replay what these hold. */

import { readdirSync, readFileSync } from "node:fs";
import { JobEnded, Permanent, StepFailed, WaitTimeout } from "holdfast";

const FORMAT = new URL("../../../internal/journal/testdata/format/", import.meta.url);

/**
 * @typedef {{ about: string, args: any, signals: { name: string, payload?: any }[], does: any[],
 *   journal: { job: string, kind: string, args: any, entries: any[], messages: any[] } }} Told
 */

/** @param {string} name */
export function told(name) {
  return /** @type {Told} */ (JSON.parse(readFileSync(new URL(name, FORMAT), "utf8")));
}

/** Returns what all of the files tell. */
export function allTold() {
  return readdirSync(FORMAT).filter((name) => name.endsWith(".json")).sort().map(told); // prettier-ignore
}

/** @type {Map<string, number>} */
const tries = new Map();

/**
 * Returns the function that a file tells as a list of operations.
 * @param {Told} told
 * @returns {(ctx: import("holdfast").Context) => Promise<void>}
 */
export function functionOf({ does }) {
  return async (ctx) => {
    /** @type {Record<string, import("holdfast").Child>} */
    const children = {};
    for (const op of does) {
      const got = await OPERATIONS[op.op]?.(ctx, op, children);
      if (!OPERATIONS[op.op]) throw new Permanent(`there is no operation ${op.op}`);
      if ("gets" in op && JSON.stringify(got) !== JSON.stringify(op.gets)) {
        throw new Permanent(`${JSON.stringify(op)} got ${JSON.stringify(got)}`);
      }
    }
  };
}

/** @type {Record<string, (ctx: import("holdfast").Context, op: any, children: any) => Promise<any>>} */
const OPERATIONS = {
  step,
  sleep: (ctx, op) => ctx.sleep(op.for),
  signal: async (ctx, op) => {
    try {
      return await ctx.waitSignal(op.name, { timeout: op.within });
    } catch (error) {
      if (error instanceof WaitTimeout && op.times_out) return null;
      throw error instanceof WaitTimeout ? new Permanent("it timed out") : error;
    }
  },
  child: async (ctx, op) => ended(await ctx.child(op.kind, op.args), op),
  start: async (ctx, op, children) => {
    children[op.as] = await ctx.child(op.kind, op.args);
  },
  wait: (_, op, children) => ended(children[op.of], op),
  send: (ctx, op, children) => ctx.signal(children[op.to], op.name, op.payload),
  publish: (ctx, op) => ctx.publish(op.key, op.value),
  append: (ctx, op) => ctx.append(op.stream, op.value),
  now: (ctx) => ctx.now(),
  patched: async (ctx, op) => {
    if (ctx.patched(op.name) !== op.is) throw new Permanent("patched is not so");
  },
};

/**
 * @param {import("holdfast").Context} ctx
 * @param {any} op
 */
async function step(ctx, op) {
  /** @type {string[]} */
  const fails = op.fails ?? [];
  const key = `${ctx.id} ${op.name}`;
  const attempt = () => {
    const at = tries.get(key) ?? 0;
    tries.set(key, at + 1);
    if (at < fails.length) throw op.permanent ? new Permanent(fails[at]) : new Error(fails[at]);
    return op.returns;
  };
  try {
    const got = await ctx.step(op.name, attempt, { attempts: op.attempts, backoff: op.backoff });
    if (!("returns" in op) || JSON.stringify(got) !== JSON.stringify(op.returns)) {
      throw new Permanent(`step ${op.name} returns ${JSON.stringify(got)}`);
    }
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    if ("returns" in op || error.detail !== fails.at(-1) || error.attempts !== fails.length) {
      throw new Permanent(`${error}, after ${error.attempts}`);
    }
  }
}

/**
 * @param {import("holdfast").Child} child
 * @param {any} op
 */
async function ended(child, op) {
  try {
    return await child.result();
  } catch (error) {
    if (error instanceof JobEnded && op.fails) return undefined;
    throw error instanceof JobEnded ? new Permanent("the child failed") : error;
  }
}

/**
 * Returns entries without what differs between runs, and between languages.
 * @param {any[]} entries
 */
export function plain(entries) {
  return entries.map(({ seq, kind, path, name, message, data }) => {
    const value = kind === "value" ? "…" : masked(data ?? null);
    return { seq: Number(seq), kind, path, name: name || "", message: Number(message ?? 0), data: value };
  });
}

/**
 * @param {any} data
 * @returns {any}
 */
function masked(data) {
  if (data === null || typeof data !== "object" || Array.isArray(data)) return data;
  const fields = Object.entries(data).map(([key, value]) => {
    if (["id", "until", "type"].includes(key)) return [key, "…"];
    return [key, key === "failure" ? masked(value) : value];
  });
  return Object.fromEntries(fields);
}

/**
 * Returns a run whose journal is that of a golden file, and whose server takes nothing more.
 * @param {Told["journal"]} journal
 * @returns {any}
 */
export function replayed(journal) {
  const now = "2000-01-01T02:00:00Z";
  return {
    job: { durable: true, lease_number: "2", claimed_at: now, cancel_requested: false, cancel_reason: null },
    id: journal.job,
    kind: journal.kind,
    queue: "default",
    args: journal.args,
    attempt: 1,
    maxAttempts: 25,
    lost: false,
    isToPause: false,
    signal: new AbortController().signal,
    check() {},
    repeat: (/** @type {(again: boolean) => any} */ make) => make(false),
    stop(/** @type {Error} */ why) {
      throw new Error(`a replay stops: ${why}`);
    },
    async request(/** @type {string} */ method, /** @type {string} */ _what, /** @type {any} */ { query, body }) {
      if (method !== "GET") throw new Error(`a replay appends ${JSON.stringify(body)}`);
      const entries = journal.entries.filter((entry) => entry.seq > Number(query.after)).slice(0, 2);
      const messages = journal.messages.filter((message) => message.seq > Number(query.seen)).slice(0, 1);
      return {
        entries: entries.map((entry) => ({ name: "", message: 0, data: null, ...entry })),
        messages: messages.map((message) => ({
          name: "",
          from: null,
          reason: null,
          error: null,
          data: null,
          ...message,
        })),
        more: entries.length === 2 || messages.length === 1,
        now,
      };
    },
  };
}
