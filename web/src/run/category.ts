// What of a journal is shown: entries by category, the last of each place, in both orders. Pure.
import type { JournalEntry } from "../api/schema";

const kinds = new Map<string, string>(Object.entries({
  steps: ["step", "step retry", "step failed"], waits: ["timer", "timeout", "received", "callback", "awaited", "selected"], children: ["child"],
  told: ["published", "streamed"], requests: ["updated"],
}).flatMap(([category, all]) => all.map((kind) => [kind, category] as const)));

/** "other" has each kind that no category names, also those that this page does not know. */
export const categories = [...new Set(kinds.values()), "other"];

/** The category that the URL names; "", which is all of them, if there is none such. */
export const categoryOf = (name: string): string => (categories.includes(name) ? name : "");

/** The entries of a category; with last those alone that are the last at their place; with newest the other way round. */
export function chosen(entries: JournalEntry[], { only, last, newest }: { only: string; last: boolean; newest: boolean }): JournalEntry[] {
  let all = only ? entries.filter((e) => (kinds.get(e.kind) ?? "other") === only) : [...entries];
  if (last) all = [...new Map(all.map((e) => [e.path || "seq " + e.seq, e])).values()];
  return newest ? all.reverse() : all;
}
