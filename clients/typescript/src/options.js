/** Options: plain JavaScript may give anything, and what is wrong is refused where it is given. */

import { milliseconds } from "./clock.js";

/**
 * Returns what an option is written as, or throws a TypeError, in which what names the option.
 * @typedef {(value: any, what: string) => unknown} Reader
 */

const LONGEST_SHOWN = 100;

/**
 * @param {(value: any) => boolean} is
 * @param {string} takes
 * @param {(value: unknown) => string} [show]
 * @returns {Reader}
 */
function typed(is, takes, show = shown) {
  return (value, what) => {
    if (!is(value)) throw new TypeError(`${what} is ${show(value)}; it takes ${takes}`);
    return value;
  };
}

/** @type {Reader} */
export const anything = (value) => value;
export const text = typed((value) => typeof value === "string", "a text");
export const number = typed((value) => typeof value === "number" && !Number.isNaN(value), "a number");
export const flag = typed((value) => typeof value === "boolean", "true or false");
export const call = typed((value) => typeof value === "function", "a function");
export const record = typed(isObject, "an object");
export const texts = typed(
  (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  "an array of texts",
);
export const filter = typed((value) => ["string", "number"].includes(typeof value), "a text or a number");
export const url = typed((value) => typeof value === "string" || value instanceof URL, "the URL of a server");
/** It is not shown: logs would have it. */
export const token = typed((value) => ["string", "function"].includes(typeof value), "a text or a function", typeName);
export const signal = typed(
  (value) => typeof value?.aborted === "boolean" && typeof value.addEventListener === "function",
  "an AbortSignal",
);
/** @type {Reader} */
export const span = (value, what) => {
  milliseconds(value, what);
  return value;
};

/**
 * Returns the reader of an array.
 * @param {Reader} reader
 * @returns {Reader}
 */
export function list(reader) {
  const array = typed(Array.isArray, "an array");
  return (value, what) => {
    array(value, what);
    return value.map((/** @type {unknown} */ one, /** @type {number} */ i) => reader(one, `${what}[${i}]`));
  };
}

/**
 * Returns options, as their readers write them; those that are undefined are left out. what names in
 * an error who takes them. others reads options that have no reader: without it there are none.
 * @template {object} T
 * @param {T} given
 * @param {Record<string, Reader>} readers
 * @param {string} what
 * @param {Reader} [others]
 * @returns {T}
 */
export function taken(given, readers, what, others) {
  const [first] = Object.keys(readers);
  // A text is not shown: it may be a token.
  if (!isObject(given)) {
    throw new TypeError(`${what} takes an object such as { ${first}: … }; what was given is ${typeName(given)}`);
  }
  /** @type {any} */
  const made = {};
  for (const [name, value] of Object.entries(given)) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : others;
    if (!reader) throw new TypeError(`${what} has no option ${name}; it has ${Object.keys(readers).join(", ")}`);
    if (value !== undefined) made[name] = reader(value, name);
  }
  return made;
}

/** @param {unknown} value */
function isObject(value) {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** @param {unknown} value */
function typeName(value) {
  return `of type ${Object.prototype.toString.call(value).slice(8, -1)}`;
}

/** @param {unknown} value */
function shown(value) {
  if (typeof value === "string") {
    return JSON.stringify(value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value);
  }
  return ["number", "boolean"].includes(typeof value) ? String(value) : typeName(value);
}
