/** Sends outcomes of runs, together where several wait. */

import { Bell, rest } from "./clock.js";
import { Forbidden, HoldfastError, Unavailable } from "./errors.js";
import { TurnedAway, Watch } from "./firewall.js";
import { refusedOutcome } from "./outcome.js";
import { Reminder, warn } from "./transport.js";
import { json, words } from "./values.js";

/** @import { Outcome } from "./outcome.js" */
/** @import { Run } from "./run.js" */

const MOST_OUTCOMES = 100;
const LARGEST_BATCH = 8 << 20;
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 5000;
const BETWEEN = 100; // milliseconds, of those that were set apart: they are sent one by one
/** What a run is refused with that is not its job's any more. */
const OVER = ["lease_lost", "worker_gone", "not_found"];

/** An outcome that was not answered. */
class Waiting {
  wasSent = false;
  isReplaced = false;
  pause = FIRST_PAUSE;
  /** When it is sent again. */
  due = 0;

  /**
   * @param {Run} run
   * @param {Outcome} outcome
   * @param {Watch} watch of the times that something else has answered it, where it was sent by itself
   */
  constructor(run, outcome, watch) {
    this.run = run;
    this.outcome = outcome;
    this.watch = watch;
    this.size = Buffer.byteLength(json(outcome));
  }
}

/** @typedef {{ code: string, detail: string, retryable?: boolean, isForeign?: boolean, after?: number }} Refusal */

/**
 * Sends outcomes until each was answered, or the worker ends. A firewall before the server may refuse
 * an outcome because of a text in it, and would each time. What something else than Holdfast has
 * answered is set apart, and sent by itself, so that it keeps no others.
 */
export class Sender {
  #worker;
  #answered;
  #bell = new Bell();
  /** @type {Waiting[]} */
  #waiting = [];
  /** @type {Waiting[]} */
  #apart = [];
  #reminder = new Reminder();

  /**
   * @param {import("./worker.js").Worker} worker
   * @param {(run: Run) => void} answered is told of each run whose outcome the server has
   */
  constructor(worker, answered) {
    this.#worker = worker;
    this.#answered = answered;
  }

  /**
   * @param {Run} run
   * @param {Outcome} outcome
   */
  add(run, outcome) {
    this.#waiting.push(new Waiting(run, outcome, this.#watch()));
    this.#bell.ring();
  }

  /** Sends what is added until the worker is over. */
  async send() {
    while (!this.#worker.over.aborted) {
      const due = Math.min(...this.#apart.map((one) => one.due)) - performance.now();
      if (this.#waiting.length > 0) await this.#deliver(this.#batch());
      else if (due > 0) await this.#bell.wait(due);
      const one = this.#due();
      if (one) await this.#deliver([one]);
    }
  }

  /** Wakes send, which looks whether the worker is over. */
  end() {
    this.#bell.ring();
  }

  #batch() {
    let size = 0;
    const end = this.#waiting.findIndex((one, i) => {
      size += one.size;
      return i > 0 && (i >= MOST_OUTCOMES || size > LARGEST_BATCH);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  /** Takes one that is to be sent again, of those that were set apart. */
  #due() {
    const [one] = this.#apart.sort((a, b) => a.due - b.due);
    if (!one || one.due > performance.now()) return undefined;
    this.#apart.shift();
    if (!one.run.lost || one.outcome.do === "release") return one;
    this.#answered(one.run); // the job is another run's
    return undefined;
  }

  /**
   * Sends outcomes until each has been answered, or is set apart.
   * @param {Waiting[]} batch
   */
  async #deliver(batch) {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      const answers = await this.#sent(batch);
      batch = batch.filter((one, i) => this.#isLeft(one, answers[i]));
      if (batch.length === 0) return;
      await rest(pause, this.#worker.over);
    }
  }

  /**
   * Does what an answer says, and returns whether the outcome, or what is said instead of it, is sent
   * again.
   * @param {Waiting} one
   * @param {Refusal | null | undefined} refused
   */
  #isLeft(one, refused) {
    if (refused?.retryable && !this.#worker.over.aborted) return true;
    if (refused?.isForeign && !one.watch.isAbout()) {
      this.#setApart(one, refused);
      return false;
    }
    if (refused && !OVER.includes(refused.code)) {
      if (!one.isReplaced) {
        one.outcome = refusedOutcome(one.outcome, refused.detail, refused.isForeign);
        one.isReplaced = true;
        one.watch = this.#watch();
        one.pause = FIRST_PAUSE;
        return true;
      }
      warn(untold(one.run, refused));
    }
    this.#answered(one.run);
    return false;
  }

  #watch() {
    return new Watch(() => this.#worker.answeredBeats);
  }

  /**
   * @param {Waiting} one
   * @param {Refusal} refused
   */
  #setApart(one, { detail, after = 0 }) {
    this.#reminder.say(`an outcome is sent again: ${detail}`);
    one.due = performance.now() + Math.max(after, one.pause * (0.5 + Math.random() / 2));
    this.#apart.push(one);
    one.pause = Math.min(one.pause * 2, Math.max(LONGEST_PAUSE, this.#apart.length * BETWEEN));
  }

  /**
   * Sends outcomes once, and returns why each was refused; null: it was stored. Only a problem of
   * Holdfast's own, and what something else answers, is about an outcome. That the credential may not
   * send any is the end of the worker, as it is where it polls, and says nothing about a job.
   * @param {Waiting[]} batch
   * @returns {Promise<(Refusal | null)[]>}
   */
  async #sent(batch) {
    const over = this.#worker.over;
    /** @param {boolean} repeated */
    const make = async (repeated) => {
      const outcomes = batch.map(({ run, outcome, wasSent }) => ({
        lease: run.lease,
        ...outcome,
        repeat: wasSent || repeated,
      }));
      const asked = this.#worker.call("/runs", { body: { outcomes }, signal: over, has: { runs: "array" } });
      const answer = await asked.catch(turnedAway);
      if (answer.runs.length === batch.length) return answer;
      throw new Unavailable(`${answer.runs.length} of ${batch.length} outcomes were answered`);
    };
    try {
      const answer = await this.#worker.repeat(make, over);
      return answer.runs.map((/** @type {{ error: Refusal | null }} */ one) => one.error);
    } catch (error) {
      if (over.aborted) return batch.map(() => ({ code: "not_found", detail: words(error) })); // the jobs run again
      if (error instanceof Forbidden || !(error instanceof HoldfastError)) throw error;
      if (batch.length > 1) return await this.#oneByOne(batch); // one of them cannot be sent
      const about = error instanceof TurnedAway ? { isForeign: true, after: error.retryAfter } : {};
      return [{ code: error.code, detail: error.message, ...about }];
    } finally {
      for (const one of batch) one.wasSent = true;
    }
  }

  /** @param {Waiting[]} batch */
  async #oneByOne(batch) {
    for (const one of batch) one.wasSent = true;
    const answers = [];
    for (const one of batch) answers.push(...(await this.#sent([one])));
    return answers;
  }
}

/**
 * @param {unknown} error
 * @returns {never}
 */
function turnedAway(error) {
  throw error instanceof Unavailable && error.isForeign ? new TurnedAway(error) : error;
}

/**
 * Says that nothing is known of a run any more.
 * @param {Run} run
 * @param {Refusal} refused
 */
function untold(run, { detail }) {
  return `the outcome of job ${run.id} was refused, and its run is given up: ${detail}`;
}
