/**
 * What one run of a durable function remembers: the journal and the inbox as they were read, and
 * what is to be stored. It makes no requests.
 */

import { createHash } from "node:crypto";
import { uuidText } from "./jobs.js";

/**
 * @typedef {{ seq: number, kind: string, path: string, name: string, message: number, data: any }} Entry
 * @typedef {{ seq: number, kind: string, name: string, from: string | null, state: string | null,
 *   reason: string | null, error: string | null, data: any }} Message
 * @typedef {{ kind: string, path?: string, name?: string, message?: number, data?: any, took?: string,
 *   job?: any, on_close?: string, signal?: any }} NewEntry
 */

export const STEP = ["step", "step failed", "step retry"];
const NAMED = [...STEP, "child", "published", "streamed", "updated", "awaited"];

/** @type {Record<string, string>} */
const WORDS = {
  step: "step",
  "step failed": "step",
  "step retry": "step",
  timer: "a timer",
  timeout: "a time limit",
  received: "a wait for a message",
  child: "child",
  callback: "a callback",
  selected: "a choice",
  value: "a value",
  published: "published key",
  streamed: "item of stream",
  updated: "update",
  awaited: "a condition",
};

/**
 * Says in words what an entry is of, as the Go runtime does.
 * @param {string} kind
 * @param {string} name
 */
function describe(kind, name) {
  const text = WORDS[kind] ?? `entry of kind ${kind}`;
  const named = NAMED.includes(kind) || (name !== "" && kind !== "callback");
  return named ? `${text} ${JSON.stringify(name)}` : text;
}

/** The code asks for something else than the journal has. */
export class NonDeterminism extends Error {}

export class Memory {
  /** The number of the last entry that is stored. */
  last = 0;
  /** The number of the last message that is known. */
  seen = 0;
  /** @type {NewEntry[]} */
  pending = [];
  /** How often the job has continued as new. */
  times = 0;
  /** @type {Map<string, boolean>} */
  patches = new Map();
  #job;
  /** @type {Map<string, Entry[]>} */
  #at = new Map();
  /** @type {Set<string>} */
  #visited = new Set();
  /** The last place of the function's own that the journal had when it was read. */
  #end = 0;
  /** Whether it had a place at all. */
  #any = false;
  /** @type {Message[]} */
  #messages = [];
  /** @type {Set<number>} */
  #received = new Set();
  #uuids = 0;

  /** @param {string} job */
  constructor(job) {
    this.#job = job;
  }

  /**
   * Takes in a page of the journal.
   * @param {{ entries: Entry[], messages: Message[] }} page
   */
  read(page) {
    for (const entry of page.entries) {
      this.last = entry.seq;
      this.#note(entry);
      const place = entry.path.slice(entry.path.lastIndexOf(".") + 1);
      if (!/^\d+$/.test(place)) continue;
      this.#any = true;
      if (place === entry.path) this.#end = Math.max(this.#end, Number(place));
    }
    for (const message of page.messages) {
      if (message.seq <= this.seen) continue;
      this.#messages.push(message);
      this.seen = message.seq;
    }
  }

  /** @param {Entry} entry */
  #note(entry) {
    const entries = this.#at.get(entry.path);
    if (entries) entries.push(entry);
    else this.#at.set(entry.path, [entry]);
    if (entry.kind === "received") this.#received.add(entry.message);
    else if (entry.kind === "patched") this.patches.set(entry.name, true);
    else if (entry.kind === "continued") this.times = Number(entry.data?.times ?? 0);
  }

  /**
   * Returns the entries at a place to which the code has come.
   * @param {string} path
   * @param {string} name
   * @param {string[]} kinds those that belong to the operation
   * @returns {Entry[]}
   */
  at(path, name, kinds) {
    const entries = this.#at.get(path) ?? [];
    const asks = `the code asks for ${describe(kinds[0] ?? "", name)} at place ${path}`;
    if (entries.length === 0 && this.#any && Number(path) <= this.#end) {
      throw new NonDeterminism(`${asks}, where the journal has no entry but continues after it`);
    }
    if (entries.length > 0) this.#visited.add(path);
    for (const entry of entries) {
      const bothNamed = entry.name !== "" && name !== "";
      const other = entry.name !== name && (NAMED.includes(entry.kind) || bothNamed);
      if (!kinds.includes(entry.kind) || other) {
        throw new NonDeterminism(
          `${asks}, where the journal (entry ${entry.seq}) has ${describe(entry.kind, entry.name)}`,
        );
      }
    }
    return entries;
  }

  /**
   * Whether the journal went on behind a place.
   * @param {number} place
   */
  isPast(place) {
    return place < this.#end;
  }

  /** Tells of the first entry that the code has not asked for, or returns "". */
  unvisited() {
    /** @type {Entry | undefined} */
    let first;
    for (const [path, [entry]] of this.#at) {
      if (!entry || path === "" || path.startsWith("~") || this.#visited.has(path)) continue;
      if (!first || entry.seq < first.seq) first = entry;
    }
    if (!first) return "";
    const what = `${describe(first.kind, first.name)} at place ${first.path}`;
    return `the code completed without asking for ${what}, which the journal has (entry ${first.seq})`;
  }

  /**
   * Notes an entry that is to be stored with the next request.
   * @param {NewEntry} entry
   */
  record(entry) {
    this.pending.push(entry);
    const { kind, path = "", name = "", message = 0, data = null } = entry;
    this.#visited.add(path);
    this.#note({ seq: this.last + this.pending.length, kind, path, name, message, data });
  }

  /**
   * Returns the first signal of a name that was not received.
   * @param {string} name
   */
  signal(name) {
    return this.#messages.find((m) => m.kind === "signal" && m.name === name && !this.#received.has(m.seq));
  }

  /** @param {number} seq */
  message(seq) {
    return this.#messages.find((message) => message.seq === seq);
  }

  /**
   * Returns how a child has ended: its last message.
   * @param {string} child
   */
  answer(child) {
    return this.#messages.findLast((message) => message.kind === "child" && message.from === child);
  }

  /**
   * Returns the failure of the child at a place that the journal remembers.
   * @param {string} path
   */
  settled(path) {
    const entry = this.#at.get(path)?.find((one) => one.kind === "received");
    return entry && this.message(entry.message);
  }

  /** Makes the next UUID: the same one on every replay, and as the Go runtime makes it. */
  uuid() {
    this.#uuids += 1;
    const hash = createHash("sha256").update(Buffer.from(this.#job.replaceAll("-", ""), "hex"));
    if (this.times > 0) hash.update(eight(this.times));
    const bytes = hash.update("uuid").update(eight(this.#uuids)).digest().subarray(0, 16);
    bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x80;
    bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
    return uuidText(bytes);
  }
}

/** @param {number} number */
function eight(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(number));
  return bytes;
}
