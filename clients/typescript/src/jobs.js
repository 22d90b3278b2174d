/** Jobs as an enqueue says them. */

/** @import { EnqueueOptions, ChildOptions } from "holdfast" */

import { randomBytes } from "node:crypto";
import { dateText, durationText } from "./clock.js";

/** @typedef {(value: any, what: string) => unknown} Writer */

/** @type {Writer} */
const same = (value) => value;
/** @type {Writer} */
const span = (value, what) => durationText(value, what);
/** @type {Writer} */
const time = (value, what) => dateText(value, what);

/**
 * Returns the writer of an object whose fields are these.
 * @param {Record<string, Writer>} fields
 * @returns {Writer}
 */
const object = (fields) => (value, what) => {
  if (value === null || typeof value !== "object") throw new TypeError(`${what} is no object`);
  return written(value, fields, what);
};

/**
 * @param {Writer} writer
 * @returns {Writer}
 */
const list = (writer) => (value, what) => Array.from(value, (one, i) => writer(one, `${what}[${i}]`));

/** @type {Record<string, Writer>} */
const OPTIONS = {
  queue: same,
  priority: same,
  delay: span,
  runAt: time,
  deadline: time,
  timeout: span,
  heartbeatTimeout: span,
  maxAttempts: same,
  backoff: object({ base: span, cap: span }),
  key: same,
  keepKey: same,
  keepTurn: same,
  tags: same,
  metadata: same,
  attributes: same,
  orderingKey: same,
  fairKey: same,
  limit: same,
  limitKey: same,
  batch: same,
  unique: object({
    key: same,
    args: same,
    queue: same,
    fields: same,
    period: span,
    maxDelay: span,
    onConflict: same,
    while: same,
  }),
  after: list(object({ job: same, ifFailed: same })),
  followUps: list(object({ on: same, job: (value, what) => body(value, what) })),
};

const NOT_OF_CHILDREN = ["id", "key", "unique", "after", "followUps"];

/**
 * Returns what the API takes as a job, with an id, by which a repeated request is known.
 * @param {string | { name: string }} kind
 * @param {unknown} args
 * @param {EnqueueOptions} [options]
 */
export function jobBody(kind, args, { id = newId(), ...options } = {}) {
  return { id, ...body({ kind, args, ...options }, "an enqueue") };
}

/**
 * Returns what the journal takes as a child. Its id is made with the entry.
 * @param {string | { name: string }} kind
 * @param {unknown} args
 * @param {ChildOptions} options
 */
export function childBody(kind, args, options) {
  const wrong = NOT_OF_CHILDREN.find((name) => name in options);
  if (wrong) throw new TypeError(`a child has no option ${wrong}`);
  return body({ kind, args, ...options }, "a child");
}

/**
 * @param {any} job
 * @param {string} what
 */
function body({ kind, args, ...options }, what) {
  /** @type {Record<string, unknown>} */
  const made = { kind: nameOf(kind) };
  if (args !== undefined) made.args = args;
  return Object.assign(made, written(options, OPTIONS, what));
}

/**
 * Writes the fields of an object as the API names them.
 * @param {Record<string, unknown>} value
 * @param {Record<string, Writer>} fields
 * @param {string} what
 */
function written(value, fields, what) {
  /** @type {Record<string, unknown>} */
  const made = {};
  for (const [name, one] of Object.entries(value)) {
    if (!Object.hasOwn(fields, name)) throw new TypeError(`${what} has no option ${name}`);
    if (one !== undefined) made[snake(name)] = fields[name]?.(one, name);
  }
  return made;
}

/** @param {string} name */
function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Returns the name of a kind or signal that is told by its name, or as made by kind or signal.
 * @param {string | { name: string }} named
 * @returns {string}
 */
export function nameOf(named) {
  const name = typeof named === "string" ? named : named?.name;
  if (typeof name !== "string" || name === "") throw new TypeError("a kind or signal has no name");
  return name;
}

/** Returns a new id of a job: a UUID of version 7 (RFC 9562). */
export function newId() {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x70;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  return uuidText(bytes);
}

/** @param {Buffer} bytes */
export function uuidText(bytes) {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
