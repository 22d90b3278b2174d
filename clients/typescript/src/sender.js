/** Sends outcomes of runs, together where several wait. */

import { Bell, rest } from "./clock.js";
import { Unavailable } from "./errors.js";
import { refusedOutcome } from "./outcome.js";
import { json, words } from "./values.js";

/** @import { Outcome } from "./outcome.js" */
/** @import { Run } from "./run.js" */

const MOST_OUTCOMES = 100;
const LARGEST_BATCH = 8 << 20;
const LONGEST_PAUSE = 5000;
/** What a run is refused with that is not its job's any more. */
const OVER = ["lease_lost", "worker_gone", "not_found"];

/** @typedef {{ run: Run, outcome: Outcome, size: number }} Waiting */
/** @typedef {{ code: string, detail: string, retryable?: boolean }} Refusal */

export class Sender {
  #worker;
  #answered;
  #bell = new Bell();
  /** @type {Waiting[]} */
  #waiting = [];

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
    this.#waiting.push({ run, outcome, size: Buffer.byteLength(json(outcome)) });
    this.#bell.ring();
  }

  /** Sends what is added until the worker is over. */
  async send() {
    while (!this.#worker.over.aborted) {
      if (this.#waiting.length === 0) await this.#bell.wait();
      else await this.#deliver(this.#batch());
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

  /**
   * Sends outcomes until each has been answered, or the worker ends.
   * @param {Waiting[]} batch
   */
  async #deliver(batch) {
    let pause = 50;
    for (let again = false; ; again = true) {
      const answers = await this.#sent(batch, again);
      /** @type {Waiting[]} */
      const left = [];
      batch.forEach((one, i) => {
        const refused = answers[i];
        if (refused?.retryable && !this.#worker.over.aborted) left.push(one);
        else if (refused && !OVER.includes(refused.code) && one.outcome.do !== "fail") {
          left.push({ ...one, outcome: refusedOutcome(one.outcome, refused.detail) });
        } else this.#answered(one.run);
      });
      if (left.length === 0) return;
      batch = left;
      await rest(pause, this.#worker.over);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  /**
   * Sends outcomes once, and returns why each was refused; null: it was stored.
   * @param {Waiting[]} batch
   * @param {boolean} again
   * @returns {Promise<(Refusal | null)[]>}
   */
  async #sent(batch, again) {
    /** @param {boolean} repeated */
    const make = (repeated) => {
      const outcomes = batch.map(({ run, outcome }) => ({ lease: run.lease, ...outcome, repeat: again || repeated }));
      return this.#worker.call("/runs", { body: { outcomes } });
    };
    try {
      const answer = await this.#worker.repeat(make, this.#worker.over);
      return answer.runs.map((/** @type {{ error: Refusal | null }} */ one) => one.error);
    } catch (error) {
      if (error instanceof Unavailable) {
        return batch.map(() => ({ code: "not_found", detail: error.message })); // the worker ends: the jobs run again
      }
      if (batch.length === 1) return [{ code: "invalid", detail: words(error) }];
      const answers = [];
      for (const one of batch) answers.push(...(await this.#sent([one], again))); // one of them cannot be sent
      return answers;
    }
  }
}
