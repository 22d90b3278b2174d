/** What goes wrong, as types. */

/** @import { FieldError, Duration } from "holdfast" */

import { dateText, milliseconds } from "./clock.js";

const MOST_TOLD = 5; // of what is wrong with a request; errors has all

/** A request that was refused, or has failed. */
export class HoldfastError extends Error {
  /**
   * @param {string} detail
   * @param {{ status?: number, code?: string, errors?: FieldError[], cause?: unknown }} [about]
   */
  constructor(detail, about = {}) {
    super(told(detail, about.errors), about.cause === undefined ? undefined : { cause: about.cause });
    this.name = new.target.name;
    this.status = about.status ?? 0;
    this.code = about.code ?? "";
    this.errors = about.errors ?? [];
  }
}

/**
 * Returns a detail with what is wrong where, as far as it does not say that itself.
 * @param {string} detail
 * @param {unknown} errors
 */
function told(detail, errors) {
  const parts = (Array.isArray(errors) ? errors : [])
    .filter((one) => one?.detail && !detail.includes(one.detail))
    .map((one) => (one.pointer ? `${one.pointer}: ${one.detail}` : one.detail));
  if (parts.length === 0) return detail;
  const more = parts.length > MOST_TOLD ? [`and ${parts.length - MOST_TOLD} more`] : [];
  return `${detail}: ${[...parts.slice(0, MOST_TOLD), ...more].join("; ")}`;
}

export class Invalid extends HoldfastError {}
export class Forbidden extends HoldfastError {}
export class Unauthenticated extends Forbidden {}
export class NotFound extends HoldfastError {}
export class Conflict extends HoldfastError {}
export class LeaseLost extends Conflict {}
export class JournalFull extends Conflict {}
export class WorkerGone extends HoldfastError {}

export class Unavailable extends HoldfastError {
  /** After how many milliseconds the server wants to be asked again. */
  retryAfter = 0;
  /** Something has answered that is not Holdfast: it stands before the server, or the URL is wrong. */
  isForeign = false;
}

/** What is said about a job, and is no request. */
class Said extends Error {
  /**
   * @param {string} [message]
   * @param {{ cause?: unknown }} [options]
   */
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

export class JobEnded extends Said {
  /**
   * @param {string} jobId
   * @param {string} state
   * @param {string | null} reason
   * @param {string | null} error
   */
  constructor(jobId, state, reason, error) {
    super(`job ${jobId} is ${state}: ${error || reason || "no reason is known"}`);
    this.jobId = jobId;
    this.state = state;
    this.reason = reason;
    this.error = error;
  }
}

export class NotAllEnqueued extends Said {
  /** @param {import("./client.js").Job[]} jobs */
  constructor(jobs) {
    const refused = jobs.filter((job) => job.code !== null);
    super(`${refused.length} of ${jobs.length} jobs were not stored; the first: ${refused[0]?.error}`);
    this.jobs = jobs;
  }
}

export class StepFailed extends Said {
  /**
   * @param {{ step: string, message: string, type?: string, attempts: number, permanent?: boolean }} failure
   * @param {{ cause?: unknown }} [options]
   */
  constructor(failure, options) {
    super(`step ${failure.step}: ${failure.message}`, options);
    this.step = failure.step;
    this.detail = failure.message;
    this.kind = failure.type ?? "";
    this.attempts = failure.attempts;
    this.permanent = failure.permanent ?? false;
  }
}

export class WaitTimeout extends Said {}
export class AttemptTimeout extends Said {}

export class MessageInvalid extends Said {
  /**
   * @param {string} signal
   * @param {number} seq
   * @param {string} problem
   * @param {{ cause?: unknown }} [options]
   */
  constructor(signal, seq, problem, options) {
    super(`signal ${signal} (message ${seq}) does not decode: ${problem}`, options);
    this.signal = signal;
    this.seq = seq;
    this.problem = problem;
  }
}

export class Misuse extends Said {}
export class Permanent extends Said {}
export class Cancelled extends Said {}

export class RetryAfter extends Said {
  /**
   * @param {Duration} after
   * @param {string} [message]
   * @param {{ cause?: unknown }} [options]
   */
  constructor(after, message, options) {
    super(message, options);
    this.after = milliseconds(after, "after");
  }
}

export class Snooze extends Said {
  /**
   * @param {Duration | Date} when
   * @param {string} [reason]
   */
  constructor(when, reason = "") {
    super(reason);
    if (when instanceof Date) dateText(when, "the time of a snooze");
    this.when = when instanceof Date ? when : milliseconds(when, "the time of a snooze");
    this.reason = reason;
  }
}

const CODES = { worker_gone: WorkerGone, lease_lost: LeaseLost, journal_full: JournalFull };

/** The code of a problem. What other programs call a code is a number, or is written otherwise. */
const CODE = /^[a-z]+(_[a-z]+)*$/;

/**
 * Returns the error of a problem document. Holdfast says a code with each. Without one the answer
 * is that of what stands before the server, and says nothing about the request: as if there were no
 * answer. A 401 is about the credential in any case: who is refused by a gateway is to be told, and
 * the worker that has another token soon goes on. What a proxy takes for too large would be so each
 * time, and would keep all outcomes that are sent behind it.
 * @param {number} status
 * @param {Record<string, any>} problem
 * @param {{ hasToken?: boolean, at?: string, to?: string | null }} [about] whether the request had a
 *   token, where it was answered, and where that has sent it
 * @returns {HoldfastError}
 */
export function ofProblem(status, problem, { hasToken = true, at = "there", to } = {}) {
  const code = typeof problem.code === "string" && CODE.test(problem.code) ? problem.code : "";
  const isOfKnownClass = [401, 413, 414, 429, 431].includes(status) || status >= 500;
  if (!code && !isOfKnownClass) return foreign(status, at, `it answers ${status}${to ? `, and sends to ${to}` : ""}`);
  const detail = String(problem.detail || problem.title || `the server answered ${status}`);
  const Kind = CODES[/** @type {keyof typeof CODES} */ (code)] ?? ofStatus(status);
  const none = "no token was given: HOLDFAST_TOKEN is not set, or the token that was passed is empty";
  const said = Kind === Unauthenticated && !hasToken ? `${none} (${detail})` : detail;
  return new Kind(said, { status, code, errors: problem.errors ?? [] });
}

/**
 * Returns the error of an answer that is not one of Holdfast.
 * @param {number} status
 * @param {string} at where it came from
 * @param {string} why
 */
export function foreign(status, at, why) {
  const error = new Unavailable(`what answers ${at} is not Holdfast: ${why}`, { status });
  error.isForeign = true;
  return error;
}

/** @param {number} status */
function ofStatus(status) {
  if (status === 401) return Unauthenticated;
  if (status === 403) return Forbidden;
  if (status === 404) return NotFound;
  if (status === 409 || status === 412) return Conflict;
  if (status === 429 || status >= 500) return Unavailable;
  return Invalid;
}
