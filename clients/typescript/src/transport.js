/** Requests to the server. fetch keeps their connections. */

import { later, rest } from "./clock.js";
import { ofProblem, Unauthenticated, Unavailable } from "./errors.js";
import { json, words } from "./values.js";

const FIRST_PAUSE = 50;
const SAID_AGAIN = 60_000; // between two lines about what is repeated
const LONGEST_PAUSE = 5000;
const LONGEST_ASKED = 60_000; // what a server may ask for by Retry-After

/**
 * How one request is made. wait is for how long the server may wait before it answers; timeout is
 * another time limit than that of the client. key is a name for the request, by which the server
 * knows it when it comes again.
 * @typedef {{
 *   body?: unknown,
 *   query?: Record<string, string>,
 *   wait?: number,
 *   timeout?: number,
 *   signal?: AbortSignal,
 *   key?: string,
 * }} How
 */

export class Transport {
  #base;
  #token;
  #timeout;
  #fetch;

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
   * Makes one request, and returns the JSON of its answer; null if it has none.
   * @param {string} method
   * @param {string} path
   * @param {How} [how]
   * @returns {Promise<any>}
   */
  async call(method, path, { body, query, wait = 0, timeout = this.#timeout, signal, key } = {}) {
    const parameters = new URLSearchParams(query).toString();
    const target = this.#base + path + (parameters ? `?${parameters}` : "");
    const text = method === "GET" ? undefined : json(body ?? {});
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    /** @type {Record<string, string>} */
    const headers = { Accept: "application/json", Authorization: `Bearer ${token}` };
    if (text !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    const limit = new AbortController();
    const off = later(timeout + wait, () => limit.abort(new Error(`no answer within ${(timeout + wait) / 1000} s`)));
    const cut = () => limit.abort(signal?.reason);
    signal?.addEventListener("abort", cut);
    if (signal?.aborted) cut();
    try {
      const answer = await this.#fetch(target, {
        method,
        headers,
        body: text,
        redirect: "manual",
        signal: limit.signal,
      });
      return this.#read(answer.status, answer.headers.get("Retry-After"), await answer.text());
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const why = limit.signal.aborted ? limit.signal.reason : error instanceof TypeError && error.cause;
      if (!why) throw error; // fetch tells by its cause that the network is why
      throw new Unavailable(`the server at ${this.host} does not answer: ${words(why)}`, { cause: error });
    } finally {
      off();
      signal?.removeEventListener("abort", cut);
    }
  }

  /**
   * @param {number} status
   * @param {string | null} retryAfter
   * @param {string} text
   */
  #read(status, retryAfter, text) {
    let document = null;
    let isJSON = true;
    try {
      if (text) document = JSON.parse(text);
    } catch {
      isJSON = false;
    }
    if (status >= 200 && status < 300) {
      if (isJSON) return document;
      throw new Unavailable(`what answers at ${this.host} is no Holdfast server: it says no JSON`, { status });
    }
    const error = ofProblem(status, document !== null && typeof document === "object" ? document : {});
    if (error instanceof Unavailable && retryAfter && /^\d+$/.test(retryAfter)) {
      error.retryAfter = Math.min(Number(retryAfter) * 1000, LONGEST_ASKED);
    }
    throw error;
  }

  /**
   * Makes a request again and again while no server answers. make is told whether it was made
   * before. until ends it, and so does the time within, from the first failure on; then the last
   * error is thrown. refused is for how long it is repeated while the credential is not accepted,
   * as while it is replaced. say is told what is wrong when it begins, and each minute.
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
        if (say && now - said >= SAID_AGAIN) {
          said = now;
          say(`a request to the server has failed, and is repeated: ${error.message}`);
        }
        const asked = error instanceof Unavailable ? error.retryAfter : 0;
        await rest(Math.min(Math.max(asked, pause * (0.5 + Math.random() / 2)), end - now), until);
        pause = Math.min(pause * 2, LONGEST_PAUSE);
      }
    }
  }
}
