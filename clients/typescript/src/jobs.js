/** Jobs as an enqueue says them. */

/** @import { EnqueueOptions, ChildOptions, NewJob } from "holdfast" */

import { randomBytes } from "node:crypto";
import { dateText, durationText } from "./clock.js";
import { anything, flag, list, number, record, taken, text, texts } from "./options.js";

/** @import { Reader } from "./options.js" */

/** @type {Reader} */
const span = (value, what) => durationText(value, what);
/** @type {Reader} */
const time = (value, what) => dateText(value, what);

/**
 * Returns the reader of an object whose fields these read.
 * @param {Record<string, Reader>} fields
 * @returns {Reader}
 */
const object = (fields) => (value, what) => written(value, fields, what);

/** @type {Record<string, Reader>} */
const COMMON = {
  queue: text,
  priority: number,
  delay: span,
  runAt: time,
  deadline: time,
  timeout: span,
  heartbeatTimeout: span,
  maxAttempts: number,
  backoff: object({ base: span, cap: span }),
  keepKey: text,
  keepTurn: flag,
  tags: texts,
  metadata: record,
  attributes: record,
  orderingKey: text,
  fairKey: text,
  limit: text,
  limitKey: text,
  batch: text,
};

/** @type {Record<string, Reader>} */
const JOB = {
  ...COMMON,
  key: text,
  unique: object({
    key: text,
    args: flag,
    queue: flag,
    fields: texts,
    period: span,
    maxDelay: span,
    onConflict: text,
    while: texts,
  }),
  after: list(object({ job: text, ifFailed: text })),
  followUps: list(object({ on: text, job: (value, what) => body(inOne(value, what), JOB, what) })),
};

const ENQUEUE = { ...JOB, id: text };
const CHILD = { ...COMMON, onClose: text };

/**
 * Returns what the API takes as a job, with an id, by which a repeated request is known.
 * @param {string | { name: string }} kind
 * @param {unknown} args
 * @param {EnqueueOptions} [options]
 */
export function jobBody(kind, args, options = {}) {
  return { id: newId(), ...body({ kind, args, options }, ENQUEUE, "an enqueue") };
}

/**
 * Returns the same of a job that is told in one object.
 * @param {NewJob} job
 */
export function jobBodyInOne(job) {
  const what = "a job of enqueueMany";
  return { id: newId(), ...body(inOne(job, what), ENQUEUE, what) };
}

/**
 * Returns what the journal takes as a child without args, and what becomes of it if its parent ends
 * first. Its id is made with the entry.
 * @param {string | { name: string }} kind
 * @param {ChildOptions} options
 * @returns {{ kind: string, on_close?: string }}
 */
export function childBody(kind, options) {
  return body({ kind, args: undefined, options }, CHILD, "a child");
}

/**
 * Takes a job in one object apart.
 * @param {any} job
 * @param {string} what
 */
function inOne(job, what) {
  const { kind, args, ...options } = taken(job, { kind: anything }, what, anything);
  return { kind, args, options };
}

/**
 * @param {{ kind: string | { name: string }, args: unknown, options: object }} job
 * @param {Record<string, Reader>} readers
 * @param {string} what
 */
function body({ kind, args, options }, readers, what) {
  const made = { kind: nameOf(kind), ...written(options, readers, what) };
  return args === undefined ? made : { ...made, args };
}

/**
 * Writes the fields of an object as the API names them.
 * @param {object} value
 * @param {Record<string, Reader>} fields
 * @param {string} what
 * @returns {Record<string, unknown>}
 */
function written(value, fields, what) {
  const made = Object.entries(taken(value, fields, what));
  return Object.fromEntries(made.map(([name, one]) => [snake(name), one]));
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
