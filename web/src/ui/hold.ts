// Rows that stay where they are: while somebody points at a row, or has gone to one by key, the
// others must not move it away.

export interface Held<T> {
  rows: T[];
  /** Those that are not of the list any more: their last known state is shown. */
  gone: ReadonlySet<string>;
  /** How many rows of the list are not shown. */
  more: number;
}

/** The rows that were shown, in their order, each as it is now; the list itself if none of it was shown. */
export function hold<T>(shown: T[], fresh: T[], id: (row: T) => string): Held<T> {
  const now = new Map(fresh.map((row) => [id(row), row]));
  const known = new Set(shown.map(id));
  const more = fresh.filter((row) => !known.has(id(row))).length;
  if (shown.length === 0) return { rows: fresh, gone: new Set(), more: 0 };
  return {
    rows: shown.map((row) => now.get(id(row)) ?? row),
    gone: new Set([...known].filter((one) => !now.has(one))),
    more,
  };
}

let freed = 0;
const free = 3000;

/** Lets rows come and go for a moment: the person has changed something in a dialog, and looks for it. */
export const freeRows = () => (freed = Date.now());
export const areFree = () => Date.now() - freed < free;
