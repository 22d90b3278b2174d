/** What becomes of a job, by what its handler returns or throws. */

import { durationText } from "./clock.js";
import { Context } from "./durable.js";
import { AttemptTimeout, Cancelled, JournalFull, Permanent, RetryAfter, Snooze, StepFailed } from "./errors.js";
import { checked, kindOf, plainText, seen, stackOf, words } from "./values.js";

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
    return told(error, run.stoppedBy);
  }
}

/**
 * Returns the outcome that was thrown. What cannot be told as it is, such as a Snooze whose Date was
 * changed, is a failure of the attempt: nothing that a handler throws ends the process.
 * @param {unknown} error
 * @param {unknown} stoppedBy
 * @returns {Outcome}
 */
function told(error, stoppedBy) {
  try {
    return thrown(seen(error), stoppedBy);
  } catch (why) {
    const said = `${words(error)} (it cannot be told as it was thrown: ${words(why)})`;
    return { ...failure(error), error: plainText(said, LONGEST_TEXT) };
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
    const outcome = told(error, run.stoppedBy);
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
 * Returns what is said instead of an outcome that was refused: a failure with nothing but words. A
 * failure stays what it was. Where a firewall has refused it, that may be because of any text of it,
 * and it is said without.
 * @param {Outcome} outcome
 * @param {string} detail
 * @param {boolean} [isForeign]
 * @returns {Outcome}
 */
export function refusedOutcome(outcome, detail, isForeign = false) {
  const said = `the outcome (${outcome.do}) was refused: ${detail}`;
  if (outcome.do !== "fail") return { do: "fail", error: plainText(said, LONGEST_TEXT) };
  const { error = "", kind, permanent } = outcome;
  if (isForeign) {
    return { do: "fail", error: `${said}; what the error said is left out here, since that may be why`, permanent };
  }
  const own = error.slice(0, Math.max(LONGEST_TEXT - said.length - 2, 0)); // so that why it was refused has room
  return { do: "fail", error: plainText(`${own}; ${said}`, LONGEST_TEXT), kind, permanent };
}
