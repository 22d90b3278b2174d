// One stream of changes for the whole page. It says that something has changed, and components read
// what they show again: so the page is right whatever is missed, and a hundred thousand changes a
// minute cost it as much as four reads a second.
import { effect, signal } from "@preact/signals";
import { follow } from "./events";
import { urlOf } from "./http";
import { caller, identify, may, namespace } from "../state/session";

/** Grows as something changes, at most ten times a second, however much does. */
export const changes = signal(0);

/** Calls f soon, once for all calls in a time, in milliseconds. */
export function soon(f: () => void, within = 100): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      f();
    }, within);
  };
}

/** Whether the page is seen. Others have no stream: browsers have few connections for all tabs. */
export const seen = signal(typeof document === "undefined" || !document.hidden);

export type Live = "live" | "paused" | "connecting" | "asking";
/** asking: there is no stream for this caller, so what is shown is asked for every few seconds. */
export const live = signal<Live>("connecting");

/** Follows the stream while the page is seen, and not paused. What holds updates otherwise is said by isHeld. */
export function watch(isPaused: () => boolean, isHeld: () => boolean): void {
  const changed = soon(() => changes.value++);
  document.addEventListener("visibilitychange", () => (seen.value = !document.hidden));
  // What has changed meanwhile is caught up with, also by those who have no stream.
  effect(() => {
    if (seen.value && !isPaused() && !isHeld()) changes.value = changes.peek() + 1;
  });
  effect(() => {
    if (!caller.value) return;
    if (isPaused()) {
      live.value = "paused";
      return;
    }
    if (!may("events:read")) {
      live.value = "asking";
      return;
    }
    if (!seen.value) return;
    const abort = new AbortController();
    live.value = "connecting";
    void follow({
      url: urlOf("/events", { namespace: namespace.value }),
      signal: abort.signal,
      onFrame: changed,
      onState: (connected, status) => {
        if (status === 401) void identify();
        live.value = connected ? "live" : status >= 400 && status < 500 ? "asking" : "connecting";
        if (connected) changed();
      },
    });
    return () => abort.abort();
  });
}
