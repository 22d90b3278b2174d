// What a person has chosen, kept in this browser.
import { effect, signal } from "@preact/signals";

/** Keeps a value in this browser. Where the browser keeps nothing, or what it kept is of another form, it is first. */
function kept<T>(name: string, first: T, is: (value: unknown) => value is T) {
  let value = first;
  try {
    const found: unknown = JSON.parse(localStorage.getItem("holdfast." + name) ?? "null");
    if (is(found)) value = found;
  } catch {
    // it is forgotten with the page then
  }
  const s = signal<T>(value);
  let begun = false;
  effect(() => {
    const text = JSON.stringify(s.value);
    if (!begun) {
      begun = true;
      return;
    }
    try {
      localStorage.setItem("holdfast." + name, text);
    } catch {
      // as above
    }
  });
  return s;
}

const oneOf = <T extends string>(...values: T[]) => (v: unknown): v is T => values.includes(v as T);
const choice = <T extends string>(name: string, ...values: [T, ...T[]]) => kept<T>(name, values[0], oneOf(...values));

export const theme = choice("theme", "system", "light", "dark");
export const zone = choice("zone", "local", "utc");
export const shortcuts = choice("shortcuts", "on", "off");

/** A view of jobs that was saved under a name: the parameters of its place. */
export interface View {
  name: string;
  q: string;
  state: string;
  sort: string;
}

const isText = (v: unknown): v is string => typeof v === "string";
const isView = (v: unknown): v is View => typeof v === "object" && v !== null && ["name", "q", "state", "sort"].every((k) => isText((v as Record<string, unknown>)[k]));

export const views = kept<View[]>("views", [], (v): v is View[] => Array.isArray(v) && v.every(isView));

/** The names of the columns of a list, in their order, where somebody has chosen them; of a list that is not here, those of its own. */
export const chosen = kept<Record<string, string[]>>("columns", {}, (v): v is Record<string, string[]> =>
  typeof v === "object" && v !== null && Object.values(v).every((names) => Array.isArray(names) && names.every(isText)));

effect(() => {
  if (typeof document !== "undefined") document.documentElement.dataset.theme = theme.value;
});
