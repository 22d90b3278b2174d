/**
 * The course of a durable function: its operations come one after the other, each at its place,
 * until it returns, throws, or leaves this worker.
 */

import { parseTime, rest } from "./clock.js";
import { Misuse } from "./errors.js";
import { Leave, refusal } from "./journal.js";
import { NonDeterminism } from "./memory.js";
import { checked } from "./values.js";

const LINGER = 50; // milliseconds: parking and coming back take about as long

export class Course {
  /** The last place that an operation has taken. */
  place = 0;
  #run;
  #journal;
  /** The operation that is under way. */
  #doing = "";
  /** @type {Leave | undefined} */
  #left;
  /** @type {Error | undefined} what ends the function, whatever it catches */
  #broken;
  /** @type {(left: Leave) => void} */
  #leaves = () => {};

  /**
   * @param {import("./run.js").Run} run
   * @param {import("./journal.js").Journal} journal
   */
  constructor(run, journal) {
    this.#run = run;
    this.#journal = journal;
  }

  // How operations begin, wait and leave.

  /**
   * Does an operation. Its promise counts as handled: an operation that is not awaited is told of
   * when the function returns, and must not end the process.
   * @template T
   * @param {string} what
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  operation(what, act) {
    const doing = this.#done(what, act);
    doing.catch(() => {});
    return doing;
  }

  /**
   * @template T
   * @param {string} what
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  async #done(what, act) {
    if (this.#left) return never();
    this.between(what);
    this.#doing = what;
    try {
      if (this.#run.lost) throw new Leave(null);
      if (!this.#run.signal.aborted && this.#run.isToPause) throw new Leave({ do: "release" });
      return await act();
    } catch (error) {
      const left = error instanceof NonDeterminism ? held(error) : error;
      if (!(left instanceof Leave)) throw error;
      this.#left = left;
      this.#leaves(left);
      return never();
    } finally {
      this.#doing = "";
    }
  }

  /**
   * Throws unless the function is between two operations.
   * @param {string} what
   */
  between(what) {
    if (this.#broken) throw this.#broken;
    if (this.#doing) {
      throw this.break(
        `${what} was called while ${this.#doing} was under way: await each operation, and call none in a step`,
      );
    }
  }

  /** @param {string} why */
  break(why) {
    return (this.#broken ??= new Misuse(why));
  }

  /**
   * Returns what a request ends with that has failed, and the function with it.
   * @param {unknown} error
   */
  breaks(error) {
    if (error instanceof Leave) return error;
    return (this.#broken ??= /** @type {Error} */ (refusal(error)));
  }

  /**
   * Takes the next place, and returns what the journal has there.
   * @param {string} name
   * @param {string[]} kinds
   */
  enter(name, kinds) {
    this.place += 1;
    const path = String(this.place);
    return { path, entries: this.#journal.memory.at(path, name, kinds) };
  }

  /** @param {string} at @param {string} what */
  until(at, what) {
    return this.await(() => undefined, at, [], what);
  }

  /**
   * Waits until something is ready, or a time; undefined: the time has come.
   * @param {() => import("./memory.js").Message | undefined} ready
   * @param {string | undefined} until
   * @param {string[]} messages the kinds that wake the job
   * @param {string} what
   */
  async await(ready, until, messages, what) {
    for (;;) {
      const found = ready();
      if (found) return found;
      const left = until === undefined ? Infinity : parseTime(until) - this.#journal.now();
      if (left <= 0) return undefined;
      if (this.#run.lost) throw new Leave(null);
      this.#run.check();
      if (left > LINGER) {
        const wakes = messages.length > 0 ? { messages } : {};
        throw new Leave({ do: "park", seen: this.#journal.memory.seen, waits_for: [what], until, ...wakes });
      }
      await rest(left, this.#run.signal);
      if (messages.length > 0) await this.#journal.read();
    }
  }

  /** Stores what is pending. If that is refused nothing goes on. */
  async flush() {
    try {
      return await this.#journal.flush();
    } catch (error) {
      throw this.breaks(error);
    }
  }

  // How the function ends.

  /**
   * Calls the function, and returns its outcome; null: the run is lost. What it throws is thrown.
   * @param {() => any} act
   * @returns {Promise<import("./outcome.js").Outcome | null>}
   */
  async outcome(act) {
    try {
      await this.#journal.open();
      const result = checked(await this.#called(act), "the result").value;
      const unvisited = this.#journal.memory.unvisited();
      if (unvisited) return { do: "hold", reason: unvisited };
      return await this.#withRest({ do: "complete", result });
    } catch (error) {
      if (!(error instanceof Leave)) throw error;
      if (error.outcome === null || error.outcome.do === "hold") return error.outcome;
      return this.#withRest(error.outcome).catch(lostOnly);
    }
  }

  /** @param {() => any} act */
  async #called(act) {
    const leaving = new Promise((_, reject) => (this.#leaves = reject));
    leaving.catch(() => {});
    const call = (async () => act())();
    try {
      const result = await Promise.race([leaving, call]);
      if (this.#doing) this.break(`the function returned while ${this.#doing} was under way: await each operation`);
      if (this.#broken) throw this.#broken;
      return result;
    } catch (error) {
      if (this.#left) throw this.#left;
      throw this.#broken ?? error;
    }
  }

  /**
   * Returns an outcome with what is stored together with it.
   * @template {object} T
   * @param {T} outcome
   */
  async #withRest(outcome) {
    const journal = await this.#journal.rest();
    return journal ? { ...outcome, journal } : outcome;
  }

  /** Throws what ends the function, if something does, where an operation is under way. */
  throwIfOver() {
    if (this.#broken) throw this.#broken;
    if (this.#run.lost) throw new Leave(null);
    this.#run.check();
  }

  /** Returns what was decided before the function has thrown what ends its job; null: the run is lost. */
  async rest() {
    if (this.#broken) return undefined;
    try {
      return await this.#journal.rest();
    } catch (error) {
      return lostOnly(error);
    }
  }
}

/** @returns {Promise<never>} */
function never() {
  return new Promise(() => {});
}

/** @param {NonDeterminism} error */
function held(error) {
  return new Leave({ do: "hold", reason: error.message });
}

/** @param {unknown} error */
function lostOnly(error) {
  if (error instanceof Leave) return null;
  throw error;
}
