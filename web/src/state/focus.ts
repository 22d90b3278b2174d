// What is focused when a page is shown: its title, so that it is read out, unless something else was
// asked for. A page that is read first has it later.
import { page } from "./route";

let next = "";
let shown = "";

page.subscribe((now) => {
  if (now !== shown) next ||= "h1";
  shown = now;
});

export function focusOnNextPage(selector: string): void {
  next = selector;
}

/** Is called by a page that is there. */
export function focusPage(): void {
  if (!next) return;
  document.querySelector<HTMLElement>(next)?.focus({ preventScroll: true });
  next = "";
}
