// One clock for all times that are shown: it ticks each second while the page is seen.
import { signal } from "@preact/signals";

export const now = signal(Date.now());

export function tick(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
}
