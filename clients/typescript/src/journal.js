/** How the journal of a run is read, and appended. */

import { parseTime } from "./clock.js";
import { Cancelled, Conflict, HoldfastError, JournalFull, LeaseLost, NotFound } from "./errors.js";
import { Permanent, Unavailable, WorkerGone } from "./errors.js";
import { TurnedAway, Watch } from "./firewall.js";
import { Memory } from "./memory.js";
import { json } from "./values.js";

/** @import { NewEntry } from "./memory.js" */

const MOST_ENTRIES = 100; // of one request
const MOST_BYTES = 2 << 20;
/** What answers of Holdfast have. */
const PAGE = /** @type {const} */ ({ entries: "array", messages: "array", more: "boolean", now: "string" });
const STORED = /** @type {const} */ ({ entries: "array", last: "number", now: "string" });

/** Ends the run of a function that is parked, or over here. No function sees it. */
export class Leave extends Error {
  /** @param {import("./outcome.js").Outcome | null} outcome null: there is nothing to say */
  constructor(outcome) {
    super("the function leaves this worker");
    this.outcome = outcome;
  }
}

export class Journal {
  #run;
  /** The time of the server, and when it was that by the clock that nothing sets. */
  #clock = { server: Date.now(), here: performance.now() };
  #isEmpty;
  #isRead = false;

  /** @param {import("./run.js").Run} run */
  constructor(run) {
    this.#run = run;
    this.memory = new Memory(run.id);
    this.#isEmpty = !run.job.durable && run.job.lease_number === "1";
    if (run.job.claimed_at) this.#setClock(run.job.claimed_at);
  }

  /** The time of the server, in milliseconds. */
  now() {
    return this.#clock.server + performance.now() - this.#clock.here;
  }

  /** @param {string} now */
  #setClock(now) {
    this.#clock = { server: parseTime(now), here: performance.now() };
  }

  /** Reads the journal and the inbox before the function begins, unless there is no journal yet. */
  async open() {
    if (!this.#isEmpty) await this.read();
  }

  /** Reads the inbox before the first wait, if it was not. */
  async look() {
    if (!this.#isRead) await this.read();
  }

  /** Reads what has come since. */
  async read() {
    this.#isRead = true;
    for (let more = true; more; ) {
      const query = { after: String(this.memory.last), seen: String(this.memory.seen) };
      const page = await this.#request(() => this.#run.request("GET", "journal", { query, has: PAGE }));
      this.memory.read(page);
      this.#setClock(page.now);
      more = page.more;
    }
  }

  /**
   * Stores what is pending, and returns what the server has made of the last of it. If it is
   * refused it is pending no more.
   * @returns {Promise<{ seq: number, name: string | null, data: any }[]>}
   */
  async flush() {
    let made = [];
    while (this.memory.pending.length > 0) {
      try {
        made = await this.#store(portion(this.memory.pending));
      } catch (error) {
        this.memory.pending = [];
        throw error;
      }
    }
    return made;
  }

  /** Returns what is stored together with the end; what does not fit into that is stored now. */
  async rest() {
    const { memory } = this;
    while (memory.pending.length > 0) {
      const entries = portion(memory.pending);
      if (entries.length === memory.pending.length) return { after: memory.last, entries };
      await this.#store(entries).catch((error) => {
        throw refusal(error);
      });
    }
    return undefined;
  }

  /** @param {NewEntry[]} entries */
  async #store(entries) {
    const { memory } = this;
    const body = { after: memory.last, entries };
    const watch = new Watch(() => this.#run.answeredBeats);
    const answer = await this.#request((repeat) =>
      this.#run.request("POST", "journal", { body: { ...body, repeat }, has: STORED }).catch((error) => {
        throw error instanceof Unavailable && error.isForeign && watch.isAbout() ? new TurnedAway(error) : error;
      }),
    );
    memory.pending = memory.pending.slice(entries.length);
    memory.last = answer.last;
    this.#setClock(answer.now);
    return answer.entries;
  }

  /** @param {(again: boolean) => Promise<any>} make */
  async #request(make) {
    try {
      return await this.#run.repeat(make);
    } catch (error) {
      const isAbout = error instanceof NotFound && error.errors.length > 0; // something in the request
      const isOver = error instanceof Unavailable || error instanceof LeaseLost || error instanceof WorkerGone;
      if (isAbout || !(isOver || error instanceof NotFound)) throw error;
      this.#run.stop(new Cancelled("the run was lost"), true);
      throw new Leave(null);
    }
  }
}

/**
 * Returns what an append ends with that was refused. What the server says about an entry, or a proxy
 * about its size, it would say again, and so would a firewall that refuses a text of it: that is
 * Permanent, so that no other attempt does again what the entry is about. What it says about the run,
 * the credential or itself is as it is, and so is that something else was appended, which the next
 * attempt reads.
 * @param {unknown} error
 */
export function refusal(error) {
  if (!(error instanceof HoldfastError) || error instanceof JournalFull) return error;
  const isElsewhere = (error instanceof NotFound || error instanceof Conflict) && error.errors.length > 0; // what an entry names
  const isAbout = isElsewhere || error instanceof TurnedAway || [400, 413, 422].includes(error.status);
  if (!isAbout) return error;
  const said = `the server refuses to store what the function has done, and would refuse it again: ${error.message}`;
  return new Permanent(said, { cause: error });
}

/**
 * Returns the entries that one request stores: as many as may be, and at least one.
 * @param {NewEntry[]} pending
 */
function portion(pending) {
  let size = 0;
  const most = pending.slice(0, MOST_ENTRIES);
  const end = most.findIndex((entry, i) => {
    size += Buffer.byteLength(json(entry));
    return i > 0 && size > MOST_BYTES;
  });
  return end < 0 ? most : most.slice(0, end);
}
