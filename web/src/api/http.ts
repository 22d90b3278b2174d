// Requests to the API. The page's base says where that is.
import type { Problem } from "./schema";
import { noteDate } from "../state/clock";

/** An answer that is no success, as the server says it, or that none came. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fields: { pointer: string; detail: string }[] = [],
    readonly request = "",
  ) {
    super(message);
  }
}

type Value = string | number | boolean | string[] | null | undefined;
/** Parameters of a request. A function is called for each request, such as for a time before now. */
export type Params = Record<string, Value | (() => Value)>;

/** The query of a URL, without what is empty. */
export function queryOf(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, given] of Object.entries(params)) {
    const value = typeof given === "function" ? given() : given;
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") query.append(name, String(one));
    }
  }
  const text = query.toString();
  return text && "?" + text;
}

/** The URL of a path of the API. */
export function urlOf(path: string, params: Params = {}): string {
  return new URL("api/v1" + path + queryOf(params), document.baseURI).href;
}

/** A path whose parts may have any letters. */
export function path(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return parts.reduce((all, part, i) => all + part + (i < values.length ? encodeURIComponent(String(values[i])) : ""), "");
}

export interface Answer<T> {
  body: T;
  etag: string;
}

/** JSON whose large integers stay exact, where the browser can: they are written as they came. */
export function parse(text: string): unknown {
  const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
  if (!raw) return JSON.parse(text);
  const exact = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && context?.source && String(value) !== context.source ? raw(context.source) : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown);
}

async function read(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.ok) return text && response.headers.get("Content-Type")?.includes("json") ? parse(text) : text;
  let problem: Partial<Problem> = {};
  try {
    problem = JSON.parse(text) as Partial<Problem>;
  } catch {
    // a proxy between has answered
  }
  throw new Failure(
    response.status,
    problem.code ?? "unknown",
    problem.detail ?? problem.title ?? `the server answered ${response.status} ${response.statusText}`,
    problem.errors ?? [],
    problem.request_id,
  );
}

/** How long a read may take, in milliseconds. */
const patience = 15_000;

/** Makes a request. It throws a Failure. once lets it be repeated: the server does it one time. */
export async function request<T>(method: string, url: string, body?: unknown, o: { signal?: AbortSignal; etag?: string; once?: string } = {}): Promise<Answer<T>> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["Content-Type"] = "application/json";
  if (o.etag) headers["If-Match"] = o.etag;
  if (o.once) headers["Idempotency-Key"] = o.once;
  let response: Response;
  const asked = Date.now();
  try {
    response = await fetch(url, {
      method,
      headers,
      body: method === "GET" || body === undefined ? undefined : JSON.stringify(body),
      signal: method === "GET" ? AbortSignal.any([AbortSignal.timeout(patience), ...(o.signal ? [o.signal] : [])]) : o.signal,
      credentials: "same-origin",
    });
  } catch (error) {
    if (o.signal?.aborted) throw error;
    if ((error as Error).name === "TimeoutError") throw new Failure(0, "no_answer", `the server has not answered for ${patience / 1000} s`);
    throw new Failure(0, "no_answer", "the server does not answer; is it running, and reached from here?");
  }
  noteDate(response.headers.get("Date"), asked, Date.now());
  return { body: (await read(response)) as T, etag: response.headers.get("ETag") ?? "" };
}
