/** Kinds and signals with the types of what they carry, which TypeScript alone sees. */

import { nameOf } from "./jobs.js";

/**
 * @template [Args=any]
 * @template [Result=any]
 * @param {string} name
 * @returns {import("holdfast").Kind<Args, Result>}
 */
export function kind(name) {
  return Object.freeze({ name: nameOf(name) });
}

/**
 * @template [Payload=any]
 * @param {string} name
 * @returns {import("holdfast").Signal<Payload>}
 */
export function signal(name) {
  return Object.freeze({ name: nameOf(name) });
}
