/** One attempt of a job, as its handler sees it. */

import { Unavailable } from "./errors.js";
import { anything, number, taken, text } from "./options.js";

const PROGRESS = { percent: number, message: text, value: anything };

export class Run {
  #worker;
  #stop = new AbortController();
  #gone = new AbortController();
  #paused = false;

  /**
   * @param {import("./worker.js").Worker} worker
   * @param {import("holdfast").WorkerJob} job
   */
  constructor(worker, job) {
    this.#worker = worker;
    this.job = job;
    this.lease = job.lease;
    this.id = job.id;
    this.kind = job.kind;
    this.queue = job.queue;
    /** @type {any} */
    this.args = job.args;
    this.attempt = job.attempt;
    this.maxAttempts = job.max_attempts;
    /** @type {any} */
    this.checkpoint = job.checkpoint?.value ?? null;
    this.signal = this.#stop.signal;
  }

  /** What stops the run, if something does. */
  get stoppedBy() {
    return this.signal.aborted ? this.signal.reason : undefined;
  }

  /** The job is not this run's any more: nothing that it says counts. */
  get lost() {
    return this.#gone.signal.aborted;
  }

  check() {
    this.signal.throwIfAborted();
  }

  /**
   * @param {{ percent?: number, message?: string, value?: any }} said
   */
  async progress(said) {
    const { percent = 0, message = "", value = null } = taken(said, PROGRESS, "progress");
    this.check();
    try {
      await this.#worker.repeat(
        () => this.request("POST", "progress", { body: { percent, message, value }, has: { job: "string" } }),
        this.signal,
      );
    } catch (error) {
      if (error instanceof Unavailable) this.check(); // it was repeated until the run was stopped
      throw error;
    }
  }

  /** Whether a durable function is to leave at its next operation: for a pause, or as the worker stops. */
  get isToPause() {
    return this.#paused || this.#worker.isStopping;
  }

  pause() {
    this.#paused = true;
  }

  /** How many beats of its worker Holdfast has answered. */
  get answeredBeats() {
    return this.#worker.answeredBeats;
  }

  /**
   * Makes a request about the run.
   * @param {string} method
   * @param {string} what
   * @param {import("./transport.js").How} how
   */
  request(method, what, how) {
    return this.#worker.call(`/runs/${this.lease}/${what}`, how, method);
  }

  /**
   * Makes a request until a server answers, or the run is over here. A run that was cancelled goes
   * on: what it has done before is to be stored.
   * @template T
   * @param {(again: boolean) => Promise<T>} make
   */
  repeat(make) {
    return this.#worker.repeat(make, this.#gone.signal);
  }

  /**
   * Stops the run.
   * @param {Error} why
   * @param {boolean} [lost]
   */
  stop(why, lost = false) {
    if (lost) this.#gone.abort(why);
    if (!this.signal.aborted) this.#stop.abort(why);
  }
}
