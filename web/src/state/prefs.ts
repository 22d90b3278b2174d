// What a person has chosen, kept in this browser.
import { effect, signal } from "@preact/signals";

function kept<T extends string>(name: string, values: readonly T[]) {
  let first = values[0] as T;
  try {
    const found = localStorage.getItem("holdfast." + name) as T | null;
    if (found && values.includes(found)) first = found;
  } catch {
    // the browser keeps nothing; it is forgotten with the page then
  }
  const s = signal<T>(first);
  effect(() => {
    const value = s.value;
    try {
      localStorage.setItem("holdfast." + name, value);
    } catch {
      // as above
    }
  });
  return s;
}

export const theme = kept("theme", ["system", "light", "dark"] as const);
export const zone = kept("zone", ["local", "utc"] as const);
export const shortcuts = kept("shortcuts", ["on", "off"] as const);

effect(() => {
  if (typeof document !== "undefined") document.documentElement.dataset.theme = theme.value;
});
