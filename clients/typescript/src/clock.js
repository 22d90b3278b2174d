/**
 * Time: durations and times as the API writes them, and waits that can be ended.
 *
 * Durations are numbers of milliseconds here, with fractions, and so are times, since 1970: a
 * double has a quarter of a microsecond today.
 */

const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|h|m|s))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)/g;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Servers count nanoseconds in 64 bits: 292 years. */
const LONGEST_DURATION = 2 ** 63 / 1e6;

/** A timer of Node fires at once if it is set to more. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Returns how many milliseconds a duration has: a number of them, or a text such as "1m30s".
 * @param {import("holdfast").Duration} duration
 * @param {string} what names it in an error
 */
export function milliseconds(duration, what = "the duration") {
  if (typeof duration === "number" && duration >= 0) return bounded(duration, what);
  if (duration === "0") return 0;
  if (typeof duration !== "string" || !WHOLE.test(duration)) {
    throw new TypeError(`${what} is ${JSON.stringify(duration)}; it takes milliseconds, or a text such as "1m30s"`);
  }
  let sum = 0;
  for (const [, number, unit] of duration.matchAll(PART)) {
    sum += Number(number) * UNITS[/** @type {keyof typeof UNITS} */ (unit)];
  }
  return bounded(sum, what);
}

/**
 * @param {number} ms
 * @param {string} what
 */
function bounded(ms, what) {
  if (ms <= LONGEST_DURATION) return ms;
  throw new TypeError(`${what} is ${ms} ms; a duration has ${Math.floor(LONGEST_DURATION)} ms at the most`);
}

/**
 * Returns the text of a duration, to the microsecond.
 * @param {import("holdfast").Duration} duration
 * @param {string} [what]
 */
export function durationText(duration, what) {
  return `${Math.round(milliseconds(duration, what) * 1000)}us`;
}

/**
 * Reads a time as Go writes it, with up to nine digits of the second.
 * @param {string} text
 */
export function parseTime(text) {
  const parts = TIME.exec(text);
  if (!parts) throw new TypeError(`${JSON.stringify(text)} is no time`);
  const [, whole = "", fraction = "", zone = ""] = parts;
  return Date.parse(whole + zone) + Number(fraction.padEnd(9, "0")) / 1e6;
}

/**
 * Writes a time, to the microsecond.
 * @param {number} at
 */
export function timeText(at) {
  const micros = Math.round(at * 1000);
  const millis = Math.floor(micros / 1000);
  const rest = String(micros - millis * 1000).padStart(3, "0");
  return new Date(millis).toISOString().replace("Z", `${rest}Z`);
}

/**
 * Writes a Date.
 * @param {Date} at
 * @param {string} what names it in an error
 */
export function dateText(at, what) {
  if (!(at instanceof Date) || Number.isNaN(at.getTime())) throw new TypeError(`${what} is no valid Date`);
  return at.toISOString();
}

/**
 * Calls a function after a while, however long, and returns what calls it off. There is no timer for
 * a while without an end: it would keep the process.
 * @param {number} ms
 * @param {() => void} call
 */
export function later(ms, call) {
  if (ms === Infinity) return () => {};
  /** @type {NodeJS.Timeout} */
  let timer;
  /** @param {number} left */
  const set = (left) => {
    const portion = Math.min(left, LONGEST_TIMER);
    timer = setTimeout(() => (left > portion ? set(left - portion) : call()), Math.ceil(portion));
  };
  set(Math.max(ms, 0));
  return () => clearTimeout(timer);
}

/**
 * Waits for a while, or until a signal aborts, which is no error.
 * @param {number} ms
 * @param {AbortSignal} [until]
 * @returns {Promise<void>}
 */
export function rest(ms, until) {
  return new Promise((resolve) => {
    if (until?.aborted) return resolve();
    const end = () => {
      off();
      until?.removeEventListener("abort", end);
      resolve();
    };
    const off = later(ms, end);
    until?.addEventListener("abort", end);
  });
}

/** Wakes those who wait for something to have changed. */
export class Bell {
  /** @type {Set<() => void>} */
  #waiting = new Set();

  ring() {
    for (const wake of [...this.#waiting]) wake();
  }

  /**
   * Waits for the next ring, or for as long as it is told.
   * @param {number} [most] in milliseconds
   * @returns {Promise<void>}
   */
  wait(most) {
    return new Promise((resolve) => {
      /** @type {(() => void) | undefined} */
      let off;
      const wake = () => {
        this.#waiting.delete(wake);
        off?.();
        resolve();
      };
      this.#waiting.add(wake);
      if (most !== undefined) off = later(most, wake);
    });
  }
}
