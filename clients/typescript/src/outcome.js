/** What becomes of a job, by what its handler returns or throws. */

import { durationText } from "./clock.js";
import { Context } from "./durable.js";
import { AttemptTimeout, Cancelled, JournalFull, Permanent, RetryAfter, Snooze, StepFailed } from "./errors.js";
import { checked, kindOf, plainText, stackOf, words } from "./values.js";

const LONGEST_REASON = 1000;
const LONGEST_TEXT = 64 << 10; // of errors and stacks
const LONGEST_KIND = 200;

/**
 * What POST /runs takes, without the lease.
 * @typedef {{ do: string, result?: any, error?: string, kind?: string, stack?: string, permanent?: boolean,
 *   retry_after?: string, for?: string, until?: string, reason?: string, messages?: string[], seen?: number,
 *   waits_for?: string[], journal?: { after: number, entries: import("./memory.js").NewEntry[] } }} Outcome
 */

/** @typedef {{ isDurable: boolean, act: (run: any, args: any) => any }} Handler */

/**
 * Lets a handler run, and returns the outcome; null: the run is lost, and there is nothing to say.
 * @param {import("./run.js").Run} run
 * @param {Handler | undefined} handler
 * @returns {Promise<Outcome | null>}
 */
export async function outcomeOf(run, handler) {
  try {
    if (!handler) throw new Error(`this worker has no handler of ${run.kind}`);
    return await (handler.isDurable ? durable(run, handler) : plain(run, handler));
  } catch (error) {
    return thrown(error, run.stoppedBy);
  }
}

/**
 * @param {import("./run.js").Run} run
 * @param {Handler} handler
 * @returns {Promise<Outcome>}
 */
async function plain(run, handler) {
  if (run.job.durable)
    return { do: "hold", reason: `the handler of ${run.kind} keeps no journal, and the job has one` };
  const returned = await handler.act(run, run.args);
  if (run.stoppedBy instanceof AttemptTimeout) throw run.stoppedBy;
  return { do: "complete", result: checked(returned, "the result").value };
}

/**
 * @param {import("./run.js").Run} run
 * @param {Handler} handler
 * @returns {Promise<Outcome | null>}
 */
async function durable(run, handler) {
  const context = new Context(run);
  try {
    return await context.outcome(handler.act);
  } catch (error) {
    const outcome = thrown(error, run.stoppedBy);
    if (outcome.do !== "cancel" && !outcome.permanent) return outcome; // another attempt decides again
    const journal = await context.rest();
    return journal === null ? null : { ...outcome, journal };
  }
}

/**
 * @param {unknown} error
 * @param {unknown} stoppedBy
 * @returns {Outcome}
 */
function thrown(error, stoppedBy) {
  // Functions of Node throw an AbortError where the run was stopped, and others the reason itself.
  if (stoppedBy && error instanceof Error && error.name === "AbortError") error = stoppedBy;
  if (error instanceof Snooze) {
    const reason = error.reason ? plainText(error.reason, LONGEST_REASON) : undefined;
    if (error.when instanceof Date) return { do: "snooze", until: error.when.toISOString(), reason };
    return { do: "snooze", for: durationText(error.when), reason };
  }
  if (error instanceof Cancelled) {
    return { do: "cancel", reason: plainText(error.message, LONGEST_REASON) || undefined };
  }
  const isPermanent =
    error instanceof Permanent || error instanceof JournalFull || (error instanceof StepFailed && error.permanent);
  if (isPermanent) return { ...failure(error), permanent: true };
  if (error instanceof RetryAfter) return { ...failure(error), retry_after: durationText(error.after) };
  return failure(error);
}

/**
 * @param {unknown} error
 * @returns {Outcome}
 */
function failure(error) {
  return {
    do: "fail",
    error: plainText(words(error), LONGEST_TEXT),
    kind: plainText(kindOf(error), LONGEST_KIND),
    stack: plainText(stackOf(error), LONGEST_TEXT),
  };
}

/**
 * Returns what is said instead of an outcome that the server has refused.
 * @param {Outcome} outcome
 * @param {string} detail
 * @returns {Outcome}
 */
export function refusedOutcome(outcome, detail) {
  return { do: "fail", error: plainText(`the outcome (${outcome.do}) was refused: ${detail}`, LONGEST_TEXT) };
}
