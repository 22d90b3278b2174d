// Reading a journal: all of it at first, and then only what was added.

export interface PageOf<T> {
  items: T[];
  next_cursor: string | null;
}

export interface All<T> {
  items: T[];
  cut: boolean; // there are more
}

interface Numbered {
  seq: string | null;
  at: string | null;
  kind: string;
}

/** How many entries are read: beyond that the page says so. */
export const most = 10_000;

const same = (a: Numbered | undefined, b: Numbered | undefined) => a?.seq === b?.seq && a?.at === b?.at && a?.kind === b?.kind;

/**
 * Reads on from what is known, if its last entry is still there as it was; else all anew, as after a run has started over. A page is
 * asked for by the number of the entry before it; "": the first one. What is known is given back as it is if nothing was added.
 */
export async function readOn<T extends Numbered>(known: All<T>, page: (after: string) => Promise<PageOf<T>>): Promise<All<T>> {
  const old = known.items;
  let from = old.length > 1 ? (old.at(-2)?.seq ?? "") : "";
  let next = await page(from);
  let kept = from ? old.slice(0, -1) : [];
  if (from && !same(next.items[0], old.at(-1))) [kept, from, next] = [[], "", await page("")];
  else if (known.cut) return known; // its beginning, of the run that it was: more than that is not read
  const items = [...kept, ...next.items];
  while (next.next_cursor !== null && items.length < most) {
    next = await page(next.next_cursor);
    items.push(...next.items);
  }
  const cut = next.next_cursor !== null;
  return from && items.length === old.length && !cut ? known : { items, cut };
}
