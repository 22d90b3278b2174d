/** What goes wrong, as types. */

/** @import { FieldError, Duration } from "holdfast" */

import { dateText, milliseconds } from "./clock.js";

/** A request that was refused, or has failed. */
export class HoldfastError extends Error {
  /**
   * @param {string} detail
   * @param {{ status?: number, code?: string, errors?: FieldError[], cause?: unknown }} [about]
   */
  constructor(detail, about = {}) {
    super(detail, about.cause === undefined ? undefined : { cause: about.cause });
    this.name = new.target.name;
    this.status = about.status ?? 0;
    this.code = about.code ?? "";
    this.errors = about.errors ?? [];
  }
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

/**
 * Returns the error of a problem document.
 * @param {number} status
 * @param {Record<string, any>} problem
 * @returns {HoldfastError}
 */
export function ofProblem(status, problem) {
  const code = String(problem.code ?? "");
  const detail = String(problem.detail || problem.title || `the server answered ${status}`);
  const Kind = CODES[/** @type {keyof typeof CODES} */ (code)] ?? ofStatus(status);
  return new Kind(detail, { status, code, errors: problem.errors ?? [] });
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
