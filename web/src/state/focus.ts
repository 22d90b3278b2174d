// What is focused when a page is shown: its title, so that it is read out, unless something else was
// asked for.
let next = "h1";

export function focusOnNextPage(selector: string): void {
  next = selector;
}

export function focusPage(): void {
  document.querySelector<HTMLElement>(next)?.focus({ preventScroll: true });
  next = "h1";
}
