/** Requests to the server. fetch keeps their connections. */

import { later, rest } from "./clock.js";
import { foreign, HoldfastError, ofProblem, Unauthenticated, Unavailable } from "./errors.js";
import { json, words } from "./values.js";

const FIRST_PAUSE = 50;
const SAID_AGAIN = 60_000; // between two lines about what is repeated
const LONGEST_PAUSE = 5000;
const LONGEST_ASKED = 60_000; // what a server may ask for by Retry-After
const NO_HEADER = /[^\t\x20-\x7e]/; // what no token has, and what fetch would throw a TypeError for

/**
 * How one request is made. wait is for how long the server may wait before it answers; timeout is
 * another time limit than that of the client. key is a name for the request, by which the server
 * knows it when it comes again. has is what an answer of Holdfast has: its fields, by their types.
 * @typedef {{
 *   body?: unknown,
 *   query?: Record<string, string>,
 *   wait?: number,
 *   timeout?: number,
 *   signal?: AbortSignal,
 *   key?: string,
 *   has?: Record<string, "array" | "boolean" | "number" | "string">,
 * }} How
 */

export class Transport {
  #base;
  #token;
  #timeout;
  #fetch;
  /** Whether Holdfast has ever answered: until then the URL may be wrong. */
  #hasMet = false;

  /**
   * @param {string} url
   * @param {string | (() => string | Promise<string>)} token
   * @param {number} timeout in milliseconds, of one request
   * @param {typeof fetch} [through]
   */
  constructor(url, token, timeout, through) {
    const parts = URL.canParse(url) ? new URL(url) : undefined;
    if (!parts || !["http:", "https:"].includes(parts.protocol)) {
      throw new TypeError(`${JSON.stringify(url)} is no http or https URL of a server`);
    }
    if (parts.username || parts.password) {
      throw new TypeError("the URL has a password in it, which logs would show; give the token by itself");
    }
    this.host = parts.host;
    this.#base = parts.origin + parts.pathname.replace(/\/+$/, "") + "/api/v1";
    this.#token = token;
    this.#timeout = timeout;
    this.#fetch = through ?? fetch;
  }

  /**
   * Makes one request, and returns the JSON of its answer.
   * @param {string} method
   * @param {string} path
   * @param {How} [how]
   * @returns {Promise<any>}
   */
  async call(method, path, { body, query, wait = 0, timeout = this.#timeout, signal, key, has = {} } = {}) {
    const parameters = new URLSearchParams(query).toString();
    const target = this.#base + path + (parameters ? `?${parameters}` : "");
    const text = method === "GET" ? undefined : json(body ?? {});
    /** @type {Record<string, string>} */
    const headers = { Accept: "application/json" };
    if (text !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    const limit = new AbortController();
    const off = later(timeout + wait, () => limit.abort(new Error(`no answer within ${(timeout + wait) / 1000} s`)));
    const cut = () => limit.abort(signal?.reason);
    signal?.addEventListener("abort", cut);
    if (signal?.aborted) cut();
    try {
      const token = await this.#given(limit.signal);
      headers.Authorization = `Bearer ${token}`;
      const answer = await this.#fetch(target, {
        method,
        headers,
        body: text,
        redirect: "manual",
        signal: limit.signal,
      });
      return this.#read(answer, await answer.text(), token !== "", has);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof HoldfastError) throw error;
      // fetch tells by its cause that the network is why, and one of the program's own throws what it likes.
      const why = limit.signal.aborted ? limit.signal.reason : error instanceof TypeError ? error.cause : error;
      if (!why) throw error;
      throw new Unavailable(`the server at ${this.host} does not answer: ${words(why)}`, { cause: error });
    } finally {
      off();
      signal?.removeEventListener("abort", cut);
    }
  }

  /**
   * Returns the token. A function that gives it belongs to the request: that it fails, or takes too
   * long, passes as the network does.
   * @param {AbortSignal} limit
   * @returns {Promise<string>}
   */
  async #given(limit) {
    const give = this.#token;
    if (typeof give === "string") return give;
    try {
      const token = await Promise.race([(async () => give())(), aborts(limit)]);
      if (typeof token === "string" && !NO_HEADER.test(token.trim())) return token;
      throw new TypeError("it has given no text that a header takes");
    } catch (error) {
      throw new Unavailable(`the function that gives the token has failed: ${words(error)}`, { cause: error });
    }
  }

  /**
   * @param {Response} answer
   * @param {string} text
   * @param {boolean} hasToken
   * @param {Record<string, string>} has
   */
  #read({ status, headers }, text, hasToken, has) {
    const document = parsed(text);
    const at = `at ${this.host}`;
    if (status >= 200 && status < 300) {
      const lacks = lacking(document, has);
      if (lacks) throw foreign(status, at, `it answers ${status} ${lacks}`);
      this.#hasMet = true;
      return document;
    }
    const error = ofProblem(status, isObject(document) ? document : {}, { hasToken, at, to: headers.get("Location") });
    if (error.code) this.#hasMet = true;
    const retryAfter = headers.get("Retry-After");
    if (error instanceof Unavailable && retryAfter && /^\d+$/.test(retryAfter)) {
      error.retryAfter = Math.min(Number(retryAfter) * 1000, LONGEST_ASKED);
    }
    throw error;
  }

  /**
   * Makes a request again and again while no server answers. make is told whether it was made
   * before. until ends it, and so does the time within, from the first failure on; then the last
   * error is thrown. refused is for how long it is repeated while the credential is not accepted,
   * as while it is replaced. say is told what is wrong when it begins, and each minute; without it
   * only that the URL may be wrong is told, since something else has answered from the beginning.
   * @template T
   * @param {(again: boolean) => Promise<T>} make
   * @param {{ until?: AbortSignal, within?: number, refused?: number, say?: (text: string) => void }} [limits]
   * @returns {Promise<T>}
   */
  async repeat(make, { until, within = Infinity, refused = 0, say } = {}) {
    let said = -Infinity;
    let pause = FIRST_PAUSE;
    let end = Infinity;
    /** @type {number | undefined} */
    let trust;
    for (let again = false; ; again = true) {
      try {
        return await make(again);
      } catch (error) {
        if (!(error instanceof Unavailable || error instanceof Unauthenticated)) throw error;
        const now = performance.now();
        if (!again) end = now + within;
        trust = error instanceof Unavailable ? undefined : (trust ?? now + refused);
        if (until?.aborted || now >= end || (trust !== undefined && now >= trust)) throw error;
        const tell = say ?? (this.#isAtWrongURL(error) ? warn : undefined);
        if (tell && now - said >= SAID_AGAIN) {
          said = now;
          tell(`a request to the server has failed, and is repeated: ${error.message}`);
        }
        const asked = error instanceof Unavailable ? error.retryAfter : 0;
        await rest(Math.min(Math.max(asked, pause * (0.5 + Math.random() / 2)), end - now), until);
        pause = Math.min(pause * 2, LONGEST_PAUSE);
      }
    }
  }

  /** @param {HoldfastError} error */
  #isAtWrongURL(error) {
    return !this.#hasMet && error instanceof Unavailable && error.isForeign;
  }
}

/** Says what is wrong at once, and again each minute for as long as it is told so. */
export class Reminder {
  #said = -Infinity;

  /** @param {string} text */
  say(text) {
    const now = performance.now();
    if (now - this.#said < SAID_AGAIN) return;
    this.#said = now;
    warn(text);
  }
}

/** @param {string} text */
export function warn(text) {
  console.warn(`holdfast: ${text}`);
}

/**
 * Rejects when a signal aborts.
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
function aborts(signal) {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/**
 * Returns what a JSON text says; undefined: it is none.
 * @param {string} text
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {unknown} document @returns {document is Record<string, unknown>} */
function isObject(document) {
  return document !== null && typeof document === "object";
}

/**
 * Says what an answer lacks that Holdfast's own has; "": nothing.
 * @param {unknown} document
 * @param {Record<string, string>} has
 */
function lacking(document, has) {
  if (!isObject(document)) return "without an object of JSON";
  for (const [name, type] of Object.entries(has)) {
    const value = document[name];
    if ((Array.isArray(value) ? "array" : typeof value) !== type) return `without its ${name}`;
  }
  return "";
}
