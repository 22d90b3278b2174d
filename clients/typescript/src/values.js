/** Values of jobs and journals: JSON of a bounded size. */

import { Permanent } from "./errors.js";

/** How many bytes one value may have. */
export const LARGEST = 1 << 20;
/** How deep arrays and objects may be nested, as the server has it. */
const DEEPEST = 200;
const LONGEST_NAME = 200; // in bytes
/** What the name of a step begins with that sends a signal. */
export const SENDS = "signal ";
const SHOWN = 100; // characters of a name that is wrong
const CONTROL = /\p{Cc}/u;
/** Of the invisible characters two are part of some scripts. */
const INVISIBLE = /(?![\u200c\u200d])[\p{Cf}\p{Zl}\p{Zp}]/u;
/** The escape that JSON.stringify writes for a NUL, and that for half of a surrogate pair. */
const NUL = /(?<!\\)(?:\\\\)*\\u0000/;
const HALF = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

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
 * Returns what JSON makes of a value, and its size. A value that is none, or that no server stores,
 * is not so for a moment only: the error is Permanent. If the server were to say that, the next
 * attempt would do again what has led to the value.
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
  const wrong = refusal(text);
  if (wrong) throw new Permanent(`${what} ${wrong}, which no server stores`);
  return { value: JSON.parse(text), size };
}

/**
 * Says why the server would refuse a JSON text that JSON.stringify has written; "": it would not.
 * @param {string} text
 */
function refusal(text) {
  if (NUL.test(text)) return "has a text with the NUL character";
  if (HALF.test(text)) return "has a text with half of a surrogate pair";
  return isDeep(text) ? `is nested more than ${DEEPEST} deep` : "";
}

/**
 * Throws a Permanent if no server stores a name. If the server were to say that, the next attempt
 * would do again what was done under it.
 * @param {unknown} name
 * @param {string} what names in an error what it is the name of
 */
export function checkName(name, what) {
  const wrong = wrongName(name, what);
  if (wrong) throw new Permanent(`${what} cannot be named ${shown(name)}: no server stores a name that ${wrong}`);
}

/**
 * Says what is wrong with a name, as the server has it; "": nothing.
 * @param {unknown} name
 * @param {string} what
 */
function wrongName(name, what) {
  if (typeof name !== "string") return "is no text";
  if (name === "") return "is empty";
  if (!name.isWellFormed()) return "has half of a surrogate pair";
  const size = Buffer.byteLength(name);
  const most = what === "a signal that is sent" ? LONGEST_NAME - SENDS.length : LONGEST_NAME;
  if (size > most) return `has ${size} bytes, of at most ${most}`;
  if (what === "a child" && name.includes("@")) return "has an @, which is for versions";
  const control = CONTROL.exec(name);
  if (control) return `has the control character ${codeOf(control[0])}`;
  const invisible = what === "a key" ? null : INVISIBLE.exec(name);
  return invisible ? `has the invisible character ${codeOf(invisible[0])}` : "";
}

/** @param {string} character */
function codeOf(character) {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** @param {unknown} name */
function shown(name) {
  if (typeof name !== "string") return `by what is of type ${typeof name}`;
  return JSON.stringify(name.length > SHOWN ? `${name.slice(0, SHOWN)}…` : name);
}

/** @param {string} text */
function isDeep(text) {
  let depth = 0;
  let inText = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') inText = !inText;
    else if (inText) i += c === "\\" ? 1 : 0;
    else if (c === "[" || c === "{") depth += 1;
    else if (c === "]" || c === "}") depth -= 1;
    if (depth > DEEPEST) return true;
  }
  return false;
}

/**
 * Returns what was thrown; an Error in its place if instanceof itself throws, as of a Proxy that was
 * revoked.
 * @param {unknown} thrown
 */
export function seen(thrown) {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error(words(thrown));
  }
}

/**
 * Returns the text of whatever was thrown. A message may be anything, once it was set.
 * @param {unknown} thrown
 * @returns {string}
 */
export function words(thrown) {
  try {
    return String(thrown instanceof Error ? thrown.message || kindOf(thrown) : thrown) || typeof thrown;
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
  try {
    if (!(thrown instanceof Error)) return typeof thrown;
    const name = String(thrown.name);
    return String((name === "Error" ? thrown.constructor?.name : name) || "Error");
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
