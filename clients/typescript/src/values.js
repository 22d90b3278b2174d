/** Values of jobs and journals: JSON of a bounded size. */

import { Permanent } from "./errors.js";

/** How many bytes one value may have. */
export const LARGEST = 1 << 20;

/**
 * Writes a value as JSON. What JSON has no words for is an error, and not null.
 * @param {unknown} value
 * @returns {string}
 */
export function json(value) {
  return JSON.stringify(value, refused) ?? "null";
}

/**
 * @param {string} _key
 * @param {unknown} value
 */
function refused(_key, value) {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} is no number of JSON`);
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`a ${typeof value} is no JSON`);
  return value;
}

/**
 * Returns what JSON makes of a value, and its size. A value that is none, or too large, is not
 * so for a moment only: the error is Permanent.
 * @param {unknown} value
 * @param {string} what names it in an error
 * @returns {{ value: any, size: number }}
 */
export function checked(value, what) {
  let text;
  try {
    text = json(value);
  } catch (error) {
    throw new Permanent(`${what} is not JSON: ${words(error)}`, { cause: error });
  }
  const size = Buffer.byteLength(text);
  if (size > LARGEST) throw new Permanent(`${what} has ${size} bytes; it may have ${LARGEST}`);
  return { value: JSON.parse(text), size };
}

/**
 * Returns the text of whatever was thrown.
 * @param {unknown} thrown
 * @returns {string}
 */
export function words(thrown) {
  try {
    return (thrown instanceof Error ? thrown.message || kindOf(thrown) : String(thrown)) || typeof thrown;
  } catch {
    return `a thrown ${typeof thrown} without words`;
  }
}

/**
 * Returns the type of whatever was thrown: the name of its class, if it has not given itself another.
 * @param {unknown} thrown
 * @returns {string}
 */
export function kindOf(thrown) {
  if (!(thrown instanceof Error)) return typeof thrown;
  try {
    const name = String(thrown.name);
    return (name === "Error" ? thrown.constructor?.name : name) || "Error";
  } catch {
    return "Error";
  }
}

/**
 * Returns where whatever was thrown comes from, if it tells.
 * @param {unknown} thrown
 * @returns {string}
 */
export function stackOf(thrown) {
  try {
    return thrown instanceof Error ? String(thrown.stack ?? "") : "";
  } catch {
    return "";
  }
}

/**
 * Returns a text that every store takes: well-formed, and not longer than it may be.
 * @param {string} text
 * @param {number} most
 */
export function plainText(text, most) {
  return String(text).slice(0, most).toWellFormed().replaceAll("\0", "");
}
