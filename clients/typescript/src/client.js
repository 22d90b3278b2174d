/** Jobs, for those who enqueue them and look after them. */

/** @import { ClientOptions, EnqueueOptions, ListOptions, NewJob, WaitOptions } from "holdfast" */

import { randomUUID } from "node:crypto";
import { durationText, milliseconds } from "./clock.js";
import { Conflict, JobEnded, NotAllEnqueued, WaitTimeout } from "./errors.js";
import { jobBody, jobBodyInOne, nameOf } from "./jobs.js";
import { call, filter, number, signal, span, taken, text, token, url } from "./options.js";
import { Transport } from "./transport.js";

const LONGEST_WAIT = 30_000;
const LARGEST_PAGE = 200;
const FINISHED = ["completed", "failed", "cancelled"];
const OPTIONS = { url, token, namespace: text, timeout: span, fetch: call };
const ID = /** @type {const} */ ({ id: "string" }); // what most answers have
const WAIT = { timeout: span, signal };

/** A job as an enqueue has made it, or found it; and by its id alone. */
export class Job {
  #client;

  /**
   * @param {Client} client
   * @param {string} id
   * @param {{ existing?: boolean, code?: string | null, error?: string | null }} [made]
   */
  constructor(client, id, { existing = false, code = null, error = null } = {}) {
    this.#client = client;
    this.id = id;
    this.existing = existing;
    this.code = code;
    this.error = error;
  }

  get() {
    return this.#client.get(this.id);
  }

  /** @param {WaitOptions} [options] */
  result(options) {
    return this.#client.result(this.id, options);
  }

  /** @param {string} [reason] */
  cancel(reason) {
    return this.#client.cancel(this.id, reason);
  }

  retry() {
    return this.#client.retry(this.id);
  }

  /**
   * @param {string | { name: string }} name
   * @param {any} [payload]
   * @param {{ key?: string }} [options]
   */
  signal(name, payload, options) {
    return this.#client.signal(this.id, name, payload, options);
  }
}

/** A client of a server. */
export class Client {
  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    const { url, token, namespace = "", timeout = 30_000, fetch } = taken(options, OPTIONS, "a Client");
    const env = process.env;
    this.namespace = namespace;
    /** For how long a call repeats itself while no server answers. */
    this.patience = milliseconds(timeout, "timeout");
    this.transport = new Transport(
      String(url || env.HOLDFAST_SERVER || "http://127.0.0.1:8233"),
      token ?? env.HOLDFAST_TOKEN ?? "",
      this.patience,
      fetch,
    );
  }

  // Enqueues.

  /**
   * @param {string | { name: string }} kind
   * @param {any} [args]
   * @param {EnqueueOptions} [options]
   */
  async enqueue(kind, args, options) {
    const answer = await this.#do("POST", "/jobs", { body: jobBody(kind, args, options), has: ID });
    return new Job(this, answer.id, answer);
  }

  /** @param {Iterable<NewJob>} jobs */
  async enqueueMany(jobs) {
    const bodies = [...jobs].map(jobBodyInOne);
    const answer = await this.#do("POST", "/jobs/batch", { body: { jobs: bodies }, has: { jobs: "array" } });
    /** @type {Job[]} */
    const made = answer.jobs.map((/** @type {any} */ one) => new Job(this, one.id, one));
    if (made.some((job) => job.code !== null)) throw new NotAllEnqueued(made);
    return made;
  }

  // Looks.

  /** @param {string} id */
  job(id) {
    return new Job(this, id);
  }

  /** @param {string} id */
  get(id) {
    return this.#do("GET", `/jobs/${encodeURIComponent(id)}`, { has: ID });
  }

  /**
   * @param {ListOptions} [options]
   */
  list(options = {}) {
    return this.#pages(taken(options, { query: text, limit: number }, "list", filter));
  }

  /**
   * @param {ListOptions} options
   * @returns {AsyncGenerator<any, void, undefined>}
   */
  async *#pages({ query = "", limit = Infinity, ...filters }) {
    let cursor = "";
    for (let left = limit; left > 0; ) {
      /** @type {Record<string, string>} */
      const page = { ...filters, limit: String(Math.min(left, LARGEST_PAGE)) };
      if (query) page.q = query;
      if (cursor) page.cursor = cursor;
      const answer = await this.#do("GET", "/jobs", { query: page, has: { items: "array" } });
      yield* answer.items;
      left -= answer.items.length;
      cursor = answer.next_cursor ?? "";
      if (!cursor) return;
    }
  }

  /**
   * @param {string | Job} job
   * @param {WaitOptions} [options]
   */
  async result(job, options = {}) {
    const { timeout, signal } = taken(options, WAIT, "a wait for a result");
    const id = typeof job === "string" ? job : job.id;
    const limit = timeout === undefined ? Infinity : milliseconds(timeout, "timeout");
    const end = performance.now() + limit;
    for (;;) {
      const wait = Math.min(LONGEST_WAIT, Math.max(end - performance.now(), 0));
      const query = { wait: durationText(wait) };
      const how = /** @type {const} */ ({ query, wait, signal, has: { state: "string" } });
      const found = await this.#do("GET", `/jobs/${encodeURIComponent(id)}/result`, how);
      if (found.state === "completed") return found.result;
      if (FINISHED.includes(found.state)) throw new JobEnded(id, found.state, found.reason, found.error);
      if (performance.now() >= end) throw new WaitTimeout(`job ${id} is ${found.state} after ${limit / 1000} s`);
    }
  }

  // Changes.

  /**
   * @param {string} id
   * @param {string} [reason]
   */
  cancel(id, reason) {
    return this.#do("POST", `/jobs/${encodeURIComponent(id)}/cancel`, { body: reason ? { reason } : {}, has: ID });
  }

  /** @param {string} id */
  retry(id) {
    const path = `/jobs/${encodeURIComponent(id)}/retry`;
    const key = randomUUID();
    /** @param {boolean} again */
    const make = async (again) => {
      try {
        return await this.transport.call("POST", path, { query: this.scoped(), key, has: ID });
      } catch (error) {
        if (again && error instanceof Conflict) return this.get(id); // the lost answer was that it runs, or ran
        throw error;
      }
    };
    return this.transport.repeat(make, { within: this.patience });
  }

  /**
   * @param {string} id
   * @param {string | { name: string }} name
   * @param {any} [payload]
   * @param {{ key?: string }} [options] without a key one is made, so that a lost answer does no harm
   */
  signal(id, name, payload, options = {}) {
    const { key = randomUUID() } = taken(options, { key: text }, "a signal");
    const body = { name: nameOf(name), dedup_key: key, payload };
    return this.#do("POST", `/jobs/${encodeURIComponent(id)}/signals`, { body, has: { duplicate: "boolean" } });
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {import("./transport.js").How} [how]
   */
  #do(method, path, how = {}) {
    const scoped = { ...how, query: this.scoped(how.query) };
    return this.transport.repeat(() => this.transport.call(method, path, scoped), {
      within: this.patience,
      until: how.signal,
    });
  }

  /**
   * Returns the parameters of a request about the client's namespace.
   * @param {Record<string, string>} [query]
   */
  scoped(query = {}) {
    return this.namespace ? { ...query, namespace: this.namespace } : query;
  }
}
