// One clock for all times that are shown: that of the server, since a browser's own may be minutes
// off. It ticks each second while the page is seen.
import { signal } from "@preact/signals";

/** How far the server's clock is ahead of this browser's, in milliseconds. */
export const ahead = signal(0);

export const now = signal(Date.now());

/** The time on the server. */
export const serverNow = () => Date.now() + ahead.peek();

/**
 * How far the server's clock is ahead, by what was known and one answer more: it was dated between
 * the moments when it was asked for and came, by a date that is cut to the second. What is within
 * that stays as it is, so that a slow answer does not blur what a quick one has told.
 */
export function aheadBy(known: number, dated: string | null, asked: number, came: number): number {
  const at = Date.parse(dated ?? "");
  if (Number.isNaN(at)) return known;
  return Math.max(at - came, Math.min(at + 1000 - asked, known));
}

export function noteDate(dated: string | null, asked: number, came: number): void {
  const found = aheadBy(ahead.peek(), dated, asked, came);
  if (found === ahead.peek()) return;
  ahead.value = found;
  now.value = serverNow();
}

export function tick(): void {
  setInterval(() => {
    if (!document.hidden) now.value = serverNow();
  }, 1000);
}
