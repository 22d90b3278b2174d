/** Tells when something before the server refuses what is sent, and would each time. */

import { HoldfastError } from "./errors.js";

const TIMES = 3; // how often something else answers before that is taken to be about what is sent
const BEATS = 2; // and how many beats are answered meanwhile

/** Something else than Holdfast has answered: it may be about what is sent. */
export class TurnedAway extends HoldfastError {
  /** @param {import("./errors.js").Unavailable} cause */
  constructor(cause) {
    super(cause.message, { cause });
    this.retryAfter = cause.retryAfter;
  }
}

/** Counts the answers of something else than Holdfast to one request that is repeated. */
export class Watch {
  #beats;
  #times = 0;
  /** How many beats were answered by the first time. */
  #began = 0;

  /** @param {() => number} beats how many beats Holdfast has answered */
  constructor(beats) {
    this.#beats = beats;
  }

  /**
   * Counts an answer of something else, and says whether that is because of what is in the request.
   * Beats that were answered since say that the server can be reached, and that the token is good.
   * Without them nothing of the server may be there, or that only at times.
   */
  isAbout() {
    const beats = this.#beats();
    if (this.#times === 0) this.#began = beats;
    this.#times += 1;
    return this.#times >= TIMES && beats >= this.#began + BEATS;
  }
}
