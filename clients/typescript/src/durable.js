/**
 * Durable functions: what they do is remembered in the journal of their job.
 *
 * A function runs from its beginning each time, on whichever worker. Operations that the journal
 * knows return what they returned then; the first one that it does not know acts. While it waits
 * for long the function is parked: its run ends here, without a slot, and it is called again when
 * what it waits for is there. The call that is left behind waits for a promise that never settles,
 * so that no catch and no finally of it takes part in that.
 */

/** @import { ChildOptions, Duration, PublishedValue, StepInfo, StepOptions } from "holdfast" */

import { dateText, milliseconds, parseTime, timeText } from "./clock.js";
import { Cancelled, Conflict, HoldfastError, JobEnded, MessageInvalid, NotFound } from "./errors.js";
import { Permanent, RetryAfter, Snooze, StepFailed, WaitTimeout } from "./errors.js";
import { Course } from "./course.js";
import { childBody } from "./jobs.js";
import { Journal } from "./journal.js";
import { STEP } from "./memory.js";
import { call, number, span, taken, text } from "./options.js";
import { checked, checkName, kindOf, plainText, seen, SENDS, words } from "./values.js";

const LONGEST_PROBLEM = 1 << 10;
const LONGEST_FAILURE = 32 << 10;
const STEP_OPTIONS = { attempts: number, backoff: span, longestBackoff: span, retryIf: call };
const WAIT_OPTIONS = { timeout: span, decode: call };
const PROGRESS = { percent: number, message: text };

/** A job that a function has started. */
class Child {
  #wait;

  /**
   * @param {string} id
   * @param {string} kind
   * @param {() => Promise<any>} wait
   */
  constructor(id, kind, wait) {
    this.id = id;
    this.kind = kind;
    this.#wait = wait;
  }

  result() {
    return this.#wait();
  }
}

export class Context {
  #run;
  #journal;
  #memory;
  #course;

  /** @param {import("./run.js").Run} run */
  constructor(run) {
    const { job } = run;
    this.#run = run;
    this.#journal = new Journal(run);
    this.#memory = this.#journal.memory;
    this.#course = new Course(run, this.#journal);
    if (job.cancel_requested) run.stop(new Cancelled(job.cancel_reason ?? ""));
    this.job = job;
    this.id = run.id;
    this.kind = run.kind;
    this.queue = run.queue;
    this.attempt = run.attempt;
    this.maxAttempts = run.maxAttempts;
    this.abortSignal = run.signal;
  }

  // Steps.

  /**
   * @param {string} name
   * @param {(info: StepInfo) => any} act
   * @param {StepOptions} [options]
   */
  step(name, act, options = {}) {
    const told = taken(options, STEP_OPTIONS, "a step");
    checkName(name, "a step");
    return this.#course.operation(`step ${JSON.stringify(name)}`, async () => {
      const { path, entries } = this.#course.enter(name, STEP);
      let attempt = 1;
      let until;
      for (const { kind, data } of entries) {
        if (kind === "step") return data;
        if (kind === "step failed") throw new StepFailed(data);
        attempt = data.failure.attempts + 1;
        until = data.until;
      }
      this.#run.check();
      for (; ; attempt++) {
        if (until) await this.#course.until(until, `step ${name}, attempt ${attempt}`);
        const tried = await this.#tried(name, path, act, attempt, told);
        if ("result" in tried) return tried.result;
        until = tried.until;
      }
    });
  }

  /**
   * Tries a step once, and remembers how that went.
   * @param {string} name
   * @param {string} path
   * @param {(info: StepInfo) => any} act
   * @param {number} attempt
   * @param {StepOptions} options
   * @returns {Promise<{ result: any } | { until: string }>}
   */
  async #tried(name, path, act, attempt, options) {
    await this.#course.flush();
    const info = { attempt, signal: this.#run.signal, idempotencyKey: this.#stepKey(name) };
    const began = performance.now();
    const took = () => `${Math.max(Math.round((performance.now() - began) * 1000), 1)}us`;
    let result;
    try {
      result = checked(await act(info), `the result of step ${name}`).value;
    } catch (thrown) {
      const error = seen(thrown);
      this.#interrupted(error);
      const { attempts = 1, retryIf } = options;
      const again = attempt < attempts && !(error instanceof Permanent) && (retryIf?.(error) ?? true);
      const failure = stepFailure(name, error, attempt, error instanceof Permanent);
      if (!again) {
        this.#memory.record({ kind: "step failed", path, name, data: failure, took: took() });
        throw new StepFailed(failure, { cause: error });
      }
      const until = timeText(this.#journal.now() + pauseAfter(error, attempt, options));
      this.#memory.record({ kind: "step retry", path, name, data: { failure, until }, took: took() });
      await this.#course.flush();
      return { until };
    }
    this.#memory.record({ kind: "step", path, name, data: result, took: took() });
    await this.#course.flush();
    return { result };
  }

  /**
   * Looks whether the error of a step is its own.
   * @param {unknown} error
   */
  #interrupted(error) {
    this.#course.throwIfOver();
    if (error instanceof Snooze || error instanceof Cancelled) {
      throw this.#course.break(
        `the function of a step has thrown ${error.name}, which only the function of the job may`,
      );
    }
  }

  // Waits.

  /** @param {Duration} duration */
  sleep(duration) {
    const ms = milliseconds(duration, "the time to sleep");
    return this.#sleep(() => timeText(this.#journal.now() + ms));
  }

  /** @param {Date} at */
  sleepUntil(at) {
    const text = dateText(at, "the time to sleep until");
    return this.#sleep(() => text);
  }

  /** @param {() => string} end */
  #sleep(end) {
    return this.#course.operation("a sleep", async () => {
      const { path, entries } = this.#course.enter("", ["timer"]);
      let until = entries[0]?.data.until;
      if (until && this.#memory.isPast(this.#course.place)) return; // the function has gone on from it, whatever the clock says
      if (!until) {
        this.#run.check();
        until = end();
        this.#memory.record({ kind: "timer", path, data: { until } });
      }
      await this.#course.until(until, `timer until ${until}`);
    });
  }

  /**
   * @param {string | { name: string }} signal
   * @param {import("holdfast").WaitSignalOptions<any>} [options]
   */
  waitSignal(signal, options = {}) {
    const { timeout, decode = same } = taken(options, WAIT_OPTIONS, "a wait for a signal");
    const name = nameIn(signal);
    checkName(name, "a signal");
    const limit = timeout === undefined ? undefined : milliseconds(timeout, "timeout");
    return this.#course.operation(`the wait for signal ${JSON.stringify(name)}`, async () => {
      const { path, entries } = this.#course.enter(name, ["received", "timer", "timeout"]);
      const late = `no signal ${JSON.stringify(name)} has come in time`;
      let until;
      for (const entry of entries) {
        if (entry.kind === "received") return this.#receivedBefore(name, entry, decode);
        if (entry.kind === "timeout") throw new WaitTimeout(late);
        until = entry.data.until;
      }
      await this.#journal.look();
      if (!this.#memory.signal(name)) {
        this.#run.check();
        if (limit !== undefined && !until) {
          until = timeText(this.#journal.now() + limit);
          this.#memory.record({ kind: "timer", path, name, data: { until } });
        }
      }
      const message = await this.#course.await(() => this.#memory.signal(name), until, ["signal"], `signal ${name}`);
      if (!message) {
        this.#memory.record({ kind: "timeout", path, name });
        throw new WaitTimeout(late);
      }
      return this.#receive(name, path, message, decode);
    });
  }

  /**
   * @param {string} name
   * @param {string} path
   * @param {import("./memory.js").Message} message
   * @param {(payload: any) => any} decode
   */
  async #receive(name, path, { seq, data }, decode) {
    try {
      const value = await decode(data);
      this.#memory.record({ kind: "received", path, name, message: seq });
      return value;
    } catch (error) {
      const problem = plainText(words(error), LONGEST_PROBLEM);
      this.#memory.record({ kind: "received", path, name, message: seq, data: { problem } });
      throw new MessageInvalid(name, seq, problem, { cause: error });
    }
  }

  /**
   * @param {string} name
   * @param {import("./memory.js").Entry} entry
   * @param {(payload: any) => any} decode
   */
  async #receivedBefore(name, entry, decode) {
    const message = this.#memory.message(entry.message);
    if (!message) throw new HoldfastError(`message ${entry.message} is missing, which entry ${entry.seq} has received`);
    if (entry.data) throw new MessageInvalid(name, message.seq, entry.data.problem);
    try {
      return await decode(message.data);
    } catch (error) {
      throw new MessageInvalid(name, message.seq, plainText(words(error), LONGEST_PROBLEM), { cause: error });
    }
  }

  // Other jobs.

  /**
   * @param {string | { name: string }} kind
   * @param {any} [args]
   * @param {ChildOptions} [options]
   */
  child(kind, args, options = {}) {
    const name = nameIn(kind);
    checkName(name, "a child");
    const { on_close, ...body } = childBody(name, options);
    return this.#course.operation(`child ${JSON.stringify(name)}`, async () => {
      const { path, entries } = this.#course.enter(name, ["child", "received"]);
      const known = entries.find((entry) => entry.kind === "child");
      if (known) return this.#child(known.data.id, name, path);
      this.#run.check();
      await this.#course.flush();
      const job = args === undefined ? body : { ...body, args: checked(args, `the args of child ${name}`).value };
      this.#memory.record({ kind: "child", path, name, job, on_close });
      const made = await this.#course.flush();
      return this.#child(made.at(-1)?.data.id, name, path);
    });
  }

  /**
   * @param {string | { name: string }} kind
   * @param {any} [args]
   * @param {ChildOptions} [options]
   */
  async call(kind, args, options) {
    const child = await this.child(kind, args, options);
    return child.result();
  }

  /**
   * @param {string} id
   * @param {string} kind
   * @param {string} path
   */
  #child(id, kind, path) {
    const wait = async () => {
      let message = this.#memory.settled(path);
      if (!message) {
        await this.#journal.look();
        message = await this.#course.await(
          () => this.#memory.answer(id),
          undefined,
          ["child"],
          `child ${id} (${kind})`,
        );
        if (!message) throw new HoldfastError(`the wait for child ${id} has ended without it`);
        if (message.state !== "completed") this.#memory.record({ kind: "received", path, message: message.seq });
      }
      if (message.state === "completed") return message.data;
      throw new JobEnded(id, message.state ?? "", message.reason, message.error);
    };
    return new Child(id, kind, () => this.#course.operation(`the wait for child ${id}`, wait));
  }

  /**
   * @param {string | { id: string }} job
   * @param {string | { name: string }} signal
   * @param {any} [payload]
   */
  signal(job, signal, payload) {
    const name = nameIn(signal);
    checkName(name, "a signal that is sent");
    const to = typeof job === "string" ? job : job.id;
    return this.#course.operation(`signal ${JSON.stringify(name)}`, async () => {
      const key = `run ${this.id} ${this.#memory.uuid()}`;
      const step = SENDS + name;
      const { path, entries } = this.#course.enter(step, STEP);
      const [known] = entries;
      if (known?.kind === "step failed") throw new StepFailed(known.data);
      if (known) return;
      this.#run.check();
      await this.#course.flush();
      const value = payload === undefined ? undefined : checked(payload, `the payload of signal ${name}`).value;
      this.#memory.record({
        kind: "step",
        path,
        name: step,
        signal: { job: to, name, payload: value, dedup_key: key },
      });
      try {
        await this.#journal.flush(); // a refusal is about the other job
      } catch (error) {
        const refused = error instanceof NotFound || (error instanceof Conflict && error.errors.length > 0);
        if (!refused) throw this.#course.breaks(error);
        const failure = stepFailure(step, error, 1, false);
        this.#memory.record({ kind: "step failed", path, name: step, data: failure });
        throw new StepFailed(failure, { cause: error });
      }
    });
  }

  // What clients can read.

  /**
   * @param {string} key
   * @param {PublishedValue} value
   */
  publish(key, value) {
    checkName(key, "a key");
    return this.#publish("published", key, value);
  }

  /**
   * @param {string} stream
   * @param {PublishedValue} value
   */
  append(stream, value) {
    checkName(stream, "a stream");
    return this.#publish("streamed", stream, value);
  }

  /**
   * @param {string} kind
   * @param {string} name
   * @param {unknown} value
   */
  #publish(kind, name, value) {
    return this.#course.operation(`${kind} ${JSON.stringify(name)}`, async () => {
      const { path, entries } = this.#course.enter(name, [kind]);
      if (entries.length > 0) return;
      this.#run.check();
      this.#memory.record({ kind, path, name, data: checked(value, `the value of ${name}`).value });
      await this.#course.flush();
    });
  }

  // What is the same on every replay.

  /** @returns {Promise<Date>} */
  now() {
    return this.#course.operation("now", async () => {
      const { path, entries } = this.#course.enter("", ["value"]);
      if (entries[0]) return new Date(Math.floor(parseTime(entries[0].data)));
      this.#run.check();
      const at = new Date(Math.floor(this.#journal.now()));
      this.#memory.record({ kind: "value", path, data: at.toISOString() });
      return at;
    });
  }

  uuid() {
    this.#course.between("uuid");
    return this.#memory.uuid();
  }

  /** @param {string} change */
  patched(change) {
    checkName(change, "a change");
    this.#course.between(`patched ${JSON.stringify(change)}`);
    const known = this.#memory.patches.get(change);
    if (known !== undefined) return known;
    const takesPart = !this.#memory.isPast(this.#course.place);
    this.#memory.patches.set(change, takesPart);
    if (takesPart) this.#memory.record({ kind: "patched", name: change });
    return takesPart;
  }

  /** @param {string} step */
  idempotencyKey(step) {
    return this.#stepKey(step);
  }

  /** @param {string} step */
  #stepKey(step) {
    const times = this.#memory.times > 0 ? `.${this.#memory.times}` : "";
    return `${this.id}${times}/${step}`;
  }

  // What is no operation, and may be used in the function of a step.

  check() {
    this.#run.check();
  }

  /** @param {{ percent?: number, message?: string }} said */
  progress(said) {
    return this.#run.progress(taken(said, PROGRESS, "progress"));
  }

  // How the function ends.

  /**
   * Calls the function, and returns its outcome; null: the run is lost. What it throws is thrown.
   * @param {(context: any, args: any) => any} act
   */
  outcome(act) {
    return this.#course.outcome(() => act(this, this.#run.args));
  }

  /** Returns what was decided before the function has thrown what ends its job; null: the run is lost. */
  rest() {
    return this.#course.rest();
  }
}

/**
 * Returns what a kind or signal is named.
 * @param {string | { name: string }} named
 * @returns {string}
 */
function nameIn(named) {
  return typeof named === "string" ? named : named?.name;
}

/** @template T @param {T} value */
function same(value) {
  return value;
}

/**
 * @param {string} step
 * @param {unknown} error
 * @param {number} attempts
 * @param {boolean} permanent
 */
function stepFailure(step, error, attempts, permanent) {
  const message = plainText(words(error), LONGEST_FAILURE) || "?";
  const failure = { step, message, type: plainText(kindOf(error), 200), attempts };
  return permanent ? { ...failure, permanent } : failure;
}

/**
 * @param {unknown} error
 * @param {number} attempt
 * @param {StepOptions} options
 */
function pauseAfter(error, attempt, { backoff = 1000, longestBackoff = "1h" }) {
  const asked = error instanceof RetryAfter ? error.after : NaN;
  if (asked >= 0 && asked < Infinity) return asked; // it may have been changed since it was made
  const pause = milliseconds(backoff, "backoff") * 2 ** Math.min(attempt - 1, 60);
  return Math.min(pause, milliseconds(longestBackoff, "longestBackoff")) * (0.8 + Math.random() * 0.4);
}
