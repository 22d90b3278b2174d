// Data of the API for components: read once for all who show it, and read again when something has
// happened, at most four times a second.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Failure, request, urlOf, type Answer, type Params } from "./http";
import { changes } from "./live";
import { leave, namespace } from "../state/session";

export interface Data<T> {
  value?: T;
  etag: string;
  error?: Failure;
  loading: boolean;
}

/** When to read again: at changes of jobs, each so many seconds, both, or only when told to. */
export type Refresh = "live" | "slow" | "watch" | "never";

/** At least this long from one read to the next, in milliseconds, and while nothing is known to change. */
const gap = { live: 250, slow: 4000, watch: 250, never: Infinity };
const afterFailure = 500; // as if it had taken that long
const mostGap = 10_000; // also from a server that was slow once
const idle = { live: 15_000, slow: 10_000, watch: 3000, never: Infinity };

/** What is shown as it was, since it could not be read again: why, and since when. */
export const failing = signal<ReadonlyMap<object, { error: Failure; since: number }>>(new Map());

export class Source<T> {
  readonly data: Signal<Data<T>> = signal({ etag: "", loading: true });
  private abort?: AbortController;
  private timer?: ReturnType<typeof setTimeout>;
  private readAt = 0;
  private goodAt = 0;
  private took = 0;
  private ended = false;
  private busy = false;
  private missed: number | undefined; // something has changed meanwhile, and is to be read after so long at least

  constructor(
    private readonly get: (signal: AbortSignal) => Promise<Answer<T>>,
    private readonly refresh: Refresh,
  ) {}

  /** Reads until the returned function is called. */
  start(): () => void {
    this.ended = false;
    void this.read();
    const off = [changes.subscribe(later(() => this.due())), own.subscribe(later(() => this.due(0)))];
    return () => {
      this.ended = true;
      for (const one of off) one();
      clearTimeout(this.timer);
      this.abort?.abort();
      this.fails(null);
    };
  }

  /** Notes for the head of the page that what is shown of this is not what is. */
  private fails(error: Failure | null): void {
    if (!error && !failing.peek().has(this)) return;
    const next = new Map(failing.peek());
    if (error && this.data.peek().value !== undefined) next.set(this, { error, since: next.get(this)?.since ?? this.goodAt });
    else next.delete(this);
    failing.value = next;
  }

  /** Something has changed: reads again, not too soon after the last time. A server that is slow is asked less often. */
  due(least = gap[this.refresh]): void {
    if (this.ended || this.refresh === "never") return;
    if (this.busy || isHeld()) {
      this.missed = Math.min(this.missed ?? least, least);
      return;
    }
    const left = this.readAt + Math.max(least, least && Math.min(4 * this.took, mostGap)) - Date.now();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (isHeld()) this.missed = least; // since this was planned
      else void this.read();
    }, Math.max(0, left));
  }

  async read(): Promise<void> {
    this.abort?.abort();
    clearTimeout(this.timer);
    const abort = (this.abort = new AbortController());
    const began = Date.now();
    this.busy = true;
    this.missed = undefined;
    try {
      const { body, etag } = await this.get(abort.signal);
      if (abort.signal.aborted) return;
      this.data.value = { value: body, etag, loading: false };
      this.goodAt = Date.now();
      this.fails(null);
    } catch (error) {
      if (abort.signal.aborted) return;
      const failure = error instanceof Failure ? error : new Failure(0, "unknown", String(error));
      if (failure.status === 401) leave();
      // What is gone is not shown any more; what could not be read is, and the head of the page says so.
      this.data.value = failure.status === 404 ? { error: failure, etag: "", loading: false } : { ...this.data.value, error: failure, loading: false };
      this.fails(failure);
    }
    this.busy = false;
    this.readAt = Date.now();
    this.took = this.data.peek().error ? afterFailure : this.readAt - began;
    if (this.ended || this.refresh === "never") return;
    if (this.missed !== undefined) this.due(this.missed);
    else this.timer = setTimeout(() => this.due(), idle[this.refresh]);
  }
}

/** Calls f for each value but the first, which a subscriber is told at once. */
function later(f: () => void): () => void {
  let told = false;
  return () => {
    if (told) f();
    told = true;
  };
}

/** Grows with each change that is made here: who has made it wants to see it. */
const own = signal(0);

/** While true nothing is read again by itself: a person selects rows, or has said so. */
export const paused = signal(false);
export const selecting = signal(false);

const isHeld = () => document.hidden || paused.value || selecting.value;

/** Reads a path of the API while the component is shown. null: nothing is read. */
export function useData<T>(path: string | null, params: Params = {}, refresh: Refresh = "live"): Data<T> & { reload: () => void } {
  const all = { namespace: namespace.value, ...params };
  const known = Object.fromEntries(Object.entries(all).filter(([, value]) => typeof value !== "function"));
  const key = path === null ? "" : urlOf(path, known as Params);
  const get = (signal: AbortSignal) => request<T>("GET", urlOf(path ?? "", all), undefined, { signal });
  const source = useSource(key, get, refresh);
  return { ...source.data.value, reload: () => void source.read() };
}

/** A source of what get reads, while the component is shown and the key the same. Without a key nothing is read. */
export function useSource<T>(key: string, get: (signal: AbortSignal) => Promise<Answer<T>>, refresh: Refresh): Source<T> {
  const last = useRef<{ key: string; source: Source<T> } | undefined>(undefined);
  const source = useMemo(() => {
    const made = new Source<T>(get, refresh);
    if (last.current?.key === key) made.data.value = last.current.source.data.peek(); // shown until it is read again
    last.current = { key, source: made };
    return made;
  }, [key, refresh]);
  useEffect(() => (key ? source.start() : undefined), [source]);
  return source;
}

/** Calls the API to change something, and has what is shown read again. */
export async function change<T>(method: string, path: string, body: unknown = {}, o: { params?: Params; etag?: string; once?: string } = {}): Promise<T> {
  const { body: answer } = await request<T>(method, urlOf(path, { namespace: namespace.value, ...o.params }), body, o);
  own.value++;
  return answer;
}
