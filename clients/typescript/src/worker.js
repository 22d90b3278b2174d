/**
 * Workers: they run jobs. One loop polls, one beats, one sends outcomes; handlers run beside them
 * in the same thread, so one that computes for long without an await keeps the worker from saying
 * that it lives.
 */

/** @import { WorkerJob, WorkerOptions } from "holdfast" */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Bell, durationText, later, milliseconds, rest } from "./clock.js";
import {
  AttemptTimeout,
  Cancelled,
  HoldfastError,
  NotFound,
  Unauthenticated,
  Unavailable,
  WorkerGone,
} from "./errors.js";
import { nameOf } from "./jobs.js";
import { flag, number, span, taken, text, texts } from "./options.js";
import { outcomeOf } from "./outcome.js";
import { Run } from "./run.js";
import { Sender } from "./sender.js";
import { Reminder, warn } from "./transport.js";

const LONGEST_POLL = 3000; // it counts as a beat: a worker that stands still is not found out before it ends
const SHORTEST_PATIENCE = 5000;
const SHORTEST_BEAT = 1000;
const MOST_JOBS = 240;
const MOST_SLOTS = 1000;
const TRUST = 60_000; // for how long a credential may not be accepted
const FAREWELL = 5000;
const JOURNAL = 1; // the version of the format in which journals are kept
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 5000;
const EARLY = 5000; // a server that knows a worker does not give it up before

const OPTIONS = { slots: number, queues: texts, name: text, version: text, deadAfter: span, stopTimeout: span };

/** The worker as the server knows it, until it is declared dead. */
class Registration {
  /** Ends its requests: it is gone, or the worker stops. */
  ends = new AbortController();
  /** The number of the last poll. */
  poll = 0;
  isPolling = false;
  began = performance.now();

  /** @param {{ worker: string, beat_every: string }} answer */
  constructor(answer) {
    this.token = answer.worker;
    this.beatEvery = milliseconds(answer.beat_every);
  }
}

export class Worker {
  /** @type {Map<string, import("./outcome.js").Handler>} */
  #handlers = new Map();
  /** @type {Map<string, Run>} by their leases: what beats list, until their outcome is answered */
  #runs = new Map();
  /** @type {Set<Run>} those that take a slot */
  #busy = new Set();
  #changed = new Bell();
  #sender = new Sender(this, (run) => this.#end(run));
  /** @type {Registration | undefined} */
  #registration;
  #stopping = new AbortController();
  #over = new AbortController();
  #hasRun = false;
  /** How many registrations, one after the other, were over as soon as they were made. */
  #early = 0;
  #reminder = new Reminder();
  /** How many beats Holdfast has answered. */
  answeredBeats = 0;
  /** @type {number | undefined} since when beats are answered that the credential is not accepted */
  #distrusted;
  /** @type {{ error: unknown } | undefined} */
  #failure;
  #queues;
  #version;
  #deadAfter;
  #stopTimeout;

  /**
   * @param {import("./client.js").Client} client
   * @param {WorkerOptions} [options]
   */
  constructor(client, options = {}) {
    if (!client?.transport) throw new TypeError("a Worker takes a Client first: new Worker(client, { slots: … })");
    const told = taken(options, OPTIONS, "a Worker");
    const { slots = 10, queues, name, version = "", deadAfter, stopTimeout = 30_000 } = told;
    if (!Number.isInteger(slots) || slots < 1 || slots > MOST_SLOTS) {
      throw new RangeError(`slots is ${slots}, and not between 1 and ${MOST_SLOTS}`);
    }
    this.client = client;
    this.slots = slots;
    this.name = name ?? `${hostname()}:${process.pid}`;
    this.#queues = queues;
    this.#version = version;
    this.#deadAfter = deadAfter === undefined ? undefined : durationText(deadAfter, "deadAfter");
    this.#stopTimeout = milliseconds(stopTimeout, "stopTimeout");
  }

  /**
   * @param {string | { name: string }} kind
   * @param {(run: any, args: any) => any} act
   */
  handle(kind, act) {
    return this.#add(kind, { isDurable: false, act });
  }

  /**
   * @param {string | { name: string }} kind
   * @param {(context: any, args: any) => any} act
   */
  function(kind, act) {
    return this.#add(kind, { isDurable: true, act });
  }

  /**
   * @param {string | { name: string }} kind
   * @param {import("./outcome.js").Handler} handler
   */
  #add(kind, handler) {
    const name = nameOf(kind);
    if (this.#handlers.has(name)) throw new Error(`the kind ${name} has a handler`);
    if (typeof handler.act !== "function") throw new TypeError(`the handler of ${name} is no function`);
    this.#handlers.set(name, handler);
    return this;
  }

  /**
   * Makes a request about the worker, or one of its runs.
   * @param {string} path
   * @param {import("./transport.js").How} how
   * @param {string} [method]
   */
  call(path, how, method = "POST") {
    return this.client.transport.call(method, path, { ...how, query: this.client.scoped(how.query) });
  }

  /**
   * Makes a request until a server answers it; a credential that is not accepted may be for a while.
   * @template T
   * @param {(again: boolean) => Promise<T>} make
   * @param {AbortSignal} until
   */
  repeat(make, until) {
    return this.client.transport.repeat(make, { until, refused: TRUST, say: warn });
  }

  get isStopping() {
    return this.#stopping.signal.aborted;
  }

  /** Aborts when the worker sends nothing more. */
  get over() {
    return this.#over.signal;
  }

  stop() {
    this.#stopping.abort();
    this.#registration?.ends.abort();
    this.#changed.ring();
  }

  /** @param {{ signals?: boolean }} [options] */
  async run(options = {}) {
    const { signals = true } = taken(options, { signals: flag }, "run");
    if (this.#handlers.size === 0)
      throw new Error("a worker needs a handler; add one with handle(kind) or function(kind)");
    if (this.#hasRun) throw new Error("a worker runs once; make another one");
    this.#hasRun = true;
    const off = signals ? this.#onSignals() : () => {};
    try {
      await this.#work();
    } finally {
      off();
    }
    if (this.#failure) throw this.#failure.error;
    await this.#leave();
  }

  /** Stops at the first signal; the second one, whichever it is, does what it does without a worker. */
  #onSignals() {
    const names = /** @type {const} */ (["SIGTERM", "SIGINT"]);
    const stop = () => {
      off();
      this.stop();
    };
    const off = () => names.forEach((name) => process.off(name, stop));
    for (const name of names) process.on(name, stop);
    return off;
  }

  async #work() {
    if (!(await this.#register())) return;
    const loops = [this.#guarded(() => this.#beats()), this.#guarded(() => this.#sender.send())];
    try {
      await this.#polls();
      await this.#endRuns();
    } finally {
      this.stop();
      for (const run of this.#busy) run.stop(new Cancelled("the worker ends"), true);
      this.#over.abort();
      this.#sender.end();
      await Promise.all(loops);
    }
  }

  /**
   * Runs a loop; the worker ends with its error.
   * @param {() => Promise<void>} loop
   */
  async #guarded(loop) {
    try {
      await loop();
    } catch (error) {
      this.#failure ??= { error };
      this.#over.abort();
      this.stop();
    }
  }

  // Register, and again once the worker was declared dead.

  /** Returns undefined if the worker is to stop before a server has answered. */
  async #register() {
    const durable = [...this.#handlers.values()].some((handler) => handler.isDurable);
    const body = {
      name: this.name,
      kinds: [...this.#handlers.keys()].sort(),
      slots: this.slots,
      journal: durable ? JOURNAL : undefined,
      namespace: this.client.namespace || undefined,
      queues: this.#queues,
      version: this.#version || undefined,
      dead_after: this.#deadAfter,
    };
    let key = randomUUID();
    const has = /** @type {const} */ ({ worker: "string", beat_every: "string" });
    const register = async () => {
      try {
        return await this.call("/workers", { body, key, has });
      } catch (error) {
        if (!(error instanceof WorkerGone)) throw error;
        key = randomUUID(); // it has registered, and the answer has come too late
        return this.call("/workers", { body, key, has });
      }
    };
    if (this.#early > 0) {
      await rest(Math.min(FIRST_PAUSE * 2 ** (this.#early - 1), LONGEST_PAUSE), this.#stopping.signal);
      if (this.isStopping) return undefined;
    }
    try {
      const answer = await this.repeat(register, this.#stopping.signal);
      this.#registration = new Registration(answer);
      return this.#registration;
    } catch (error) {
      if (error instanceof Unavailable && this.isStopping) return undefined;
      throw error;
    }
  }

  /**
   * Stops the runs of a registration that is over.
   * @param {Registration} registration
   */
  #gone(registration) {
    if (this.#registration !== registration) return;
    this.#registration = undefined;
    this.#early = performance.now() - registration.began < EARLY ? this.#early + 1 : 0;
    if (this.#early > 1) {
      const where = `the server at ${this.client.transport.host}`;
      this.#reminder.say(`${where} does not know the worker that has just registered: have all servers there one database?`);
    }
    registration.ends.abort();
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    for (const run of runs) run.stop(new Cancelled("the worker was declared dead"), true);
    this.#changed.ring();
  }

  // Poll.

  async #polls() {
    while (!this.isStopping) {
      const registration = this.#registration ?? (await this.#register());
      if (!registration) return;
      const free = this.slots - this.#busy.size;
      if (free === 0) {
        await this.#changed.wait();
        continue;
      }
      for (const job of await this.#poll(registration, Math.min(free, MOST_JOBS))) this.#begin(job);
    }
  }

  /**
   * @param {Registration} registration
   * @param {number} want
   * @returns {Promise<WorkerJob[]>}
   */
  async #poll(registration, want) {
    const seq = ++registration.poll;
    const ends = registration.ends.signal;
    registration.isPolling = true;
    try {
      const answer = await this.repeat((repeat) => this.#asked(registration, { want, seq, repeat }), ends);
      if (this.#registration !== registration) return []; // it was declared dead meanwhile, and these are others' now
      if (answer.mode === "draining") this.stop();
      return answer.jobs;
    } catch (error) {
      if (error instanceof WorkerGone || error instanceof NotFound) this.#gone(registration);
      else if (!(error instanceof Unavailable) && !ends.aborted) throw error;
      return []; // what was claimed is given up, since no beat lists it
    } finally {
      registration.isPolling = false;
    }
  }

  /**
   * Asks for jobs once. Where the worker is to stop meanwhile the request is cut off, and asked again
   * for what it may have claimed.
   * @param {Registration} registration
   * @param {{ want: number, seq: number, repeat: boolean }} body
   */
  async #asked(registration, body) {
    const path = `/workers/${registration.token}/poll`;
    const has = /** @type {const} */ ({ jobs: "array", mode: "string" });
    const timeout = Math.max(registration.beatEvery * 2, SHORTEST_PATIENCE); // another server may answer
    const signal = registration.ends.signal;
    try {
      const query = { wait: durationText(LONGEST_POLL) };
      return await this.call(path, { body, query, wait: LONGEST_POLL, timeout, signal, has });
    } catch (error) {
      if (!signal.aborted || this.#registration !== registration) throw error;
      return this.call(path, { body: { ...body, repeat: true }, query: { wait: "0s" }, timeout: FAREWELL, has });
    }
  }

  // Run.

  /** @param {WorkerJob} job */
  #begin(job) {
    const run = new Run(this, job);
    this.#runs.set(run.lease, run);
    this.#busy.add(run);
    void this.#execute(run);
  }

  /** @param {Run} run */
  async #execute(run) {
    const { kind, version, timeout } = run.job;
    const limit = timeout ? milliseconds(timeout) : Infinity;
    const late = () => run.stop(new AttemptTimeout(`the attempt took longer than ${limit / 1000} s`));
    const off = later(limit, late);
    run.signal.addEventListener("abort", off); // a handler that never settles must not keep the process
    const outcome = await outcomeOf(run, this.#handlers.get(version ? `${kind}@${version}` : kind));
    off();
    if (run.lost || outcome === null) this.#end(run);
    else this.#sender.add(run, outcome); // the slot is free once it is answered: the server counts the run until then
  }

  /**
   * Forgets a run, and frees its slot.
   * @param {Run} run
   */
  #end(run) {
    this.#runs.delete(run.lease);
    this.#busy.delete(run);
    this.#changed.ring();
  }

  // Beat.

  async #beats() {
    let took = 0;
    while (!this.over.aborted) {
      const registration = this.#registration;
      await rest(Math.max((registration?.beatEvery ?? SHORTEST_BEAT) - took, 0), this.over);
      const began = performance.now();
      if (this.#registration && !this.over.aborted) await this.#beat(this.#registration);
      took = performance.now() - began;
    }
  }

  /** @param {Registration} registration */
  async #beat(registration) {
    let refusal;
    try {
      await this.#said(registration);
    } catch (error) {
      if (this.over.aborted) return;
      if (error instanceof Unauthenticated) refusal = error;
      else if (error instanceof WorkerGone || error instanceof NotFound) this.#gone(registration);
      else if (!(error instanceof Unavailable)) throw error; // the next one may come through
    }
    this.#trust(refusal);
  }

  /**
   * Counts for how long beats are not accepted: while all slots are busy nothing else asks.
   * @param {Unauthenticated | undefined} refusal
   */
  #trust(refusal) {
    if (!refusal) {
      this.#distrusted = undefined;
      return;
    }
    const now = performance.now();
    this.#distrusted ??= now;
    if (now - this.#distrusted >= TRUST) throw refusal;
    this.#reminder.say(`the server does not accept that the worker lives, and is told again: ${refusal.message}`);
  }

  /**
   * Says what runs, and does what is answered.
   * @param {Registration} registration
   */
  async #said(registration) {
    const body = { running: [...this.#runs.keys()], polling: registration.isPolling ? registration.poll : undefined };
    const timeout = Math.max(registration.beatEvery, SHORTEST_BEAT);
    const has = /** @type {const} */ ({ cancel: "array", pause: "array", lost: "array", mode: "string" });
    const how = { body, timeout, signal: this.over, has };
    const answer = await this.call(`/workers/${registration.token}/beat`, how);
    this.answeredBeats += 1;
    this.#obey(answer);
  }

  /**
   * Does what the answer to a beat says.
   * @param {{ cancel: { lease: string, reason: string | null }[], pause: string[], lost: string[], mode: string }} answer
   */
  #obey({ cancel, pause, lost, mode }) {
    for (const { lease, reason } of cancel) this.#runs.get(lease)?.stop(new Cancelled(reason ?? ""));
    for (const lease of pause) this.#runs.get(lease)?.pause();
    for (const lease of lost) {
      this.#runs.get(lease)?.stop(new Cancelled("the run was lost"), true);
      this.#runs.delete(lease);
    }
    if (lost.length > 0) this.#changed.ring();
    if (mode === "draining") this.stop();
  }

  // Stop.

  /** Waits for the runs, and gives back those that take too long. */
  async #endRuns() {
    await this.#idle(this.#stopTimeout);
    for (const run of this.#runs.values()) {
      run.stop(new Cancelled("the worker stops"), true);
      this.#sender.add(run, { do: "release" });
    }
    await this.#idle(FAREWELL);
  }

  /**
   * Waits until no run is left, for as long as it is told.
   * @param {number} most
   */
  async #idle(most) {
    const end = performance.now() + most;
    for (let left = most; this.#runs.size > 0 && left > 0 && !this.over.aborted; left = end - performance.now()) {
      await this.#changed.wait(left);
    }
  }

  /** Says that the worker is gone, for as long as FAREWELL in all: without that it is declared dead later. */
  async #leave() {
    const registration = this.#registration;
    if (!registration) return;
    const end = new AbortController();
    const off = later(FAREWELL, () => end.abort());
    try {
      const make = () => this.call(`/workers/${registration.token}/leave`, { signal: end.signal });
      await this.client.transport.repeat(make, { until: end.signal });
    } catch (error) {
      if (!(error instanceof HoldfastError || end.signal.aborted)) throw error; // it is declared dead, and holds nothing
    } finally {
      off();
    }
  }
}
