// The URL is the state of the page: what is shown, filtered and selected can be reloaded, sent to
// others, and gone back from.
import { computed, signal } from "@preact/signals";

export interface Place {
  path: string; // without the base, and with a slash before it
  query: URLSearchParams;
}

/** Takes a URL below the base apart. */
export function placeOf(url: string, base: string): Place {
  const u = new URL(url);
  const root = new URL(base).pathname;
  const path = u.pathname.startsWith(root) ? u.pathname.slice(root.length - 1) : u.pathname;
  return { path: path.replace(/(.)\/$/, "$1"), query: u.searchParams };
}

const here = () => placeOf(location.href, document.baseURI);

export const place = signal<Place>({ path: "/", query: new URLSearchParams() });
export const path = computed(() => place.value.path);

/** The page that is shown, and of which namespace: not what is shown of it. A form for something new is a page. */
export const page = computed(() => [place.value.path, param("namespace"), param("new")].join(" "));

/** The value of a parameter of the URL; "" if it has none. */
export function param(name: string): string {
  return place.value.query.get(name) ?? "";
}

/** The URL of a place: its path, and parameters, of which the empty ones are left out. The namespace stays. */
export function href(to: string, params: Record<string, string | undefined> = {}): string {
  const query = new URLSearchParams();
  const namespace = param("namespace");
  if (namespace && !("namespace" in params)) query.set("namespace", namespace);
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value);
  const text = query.toString();
  return new URL(to.replace(/^\//, "") + (text && "?" + text), document.baseURI).href;
}

/** Goes to a URL. With replace the one before is not kept. */
export function go(url: string, replace = false): void {
  if (replace) history.replaceState(history.state, "", url);
  else {
    history.replaceState({ ...(history.state as object | null), y: scrollY }, ""); // for who comes back
    history.pushState({ within: true }, "", url);
  }
  place.value = here();
  if (!replace) scrollTo(0, 0);
}

/** How long a page that is come back to has to become as high as it was, in milliseconds. */
const mostGrowth = 3000;

/** Scrolls to where the page was left, once it is as high again, unless the person scrolls before. */
function scrollBack(to: number): void {
  const until = Date.now() + mostGrowth;
  const over = new AbortController();
  for (const own of ["wheel", "touchstart", "keydown", "pointerdown", "popstate"]) addEventListener(own, () => over.abort(), { signal: over.signal, passive: true });
  const look = () => {
    if (over.signal.aborted) return;
    const isHigh = document.documentElement.scrollHeight - innerHeight >= to;
    if (isHigh) scrollTo(0, to);
    if (isHigh || Date.now() > until) over.abort();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Changes parameters of the place, and goes to it. An empty value removes one. */
export function set(params: Record<string, string>, replace = false): void {
  const all = Object.fromEntries(place.value.query);
  go(href(place.value.path, { ...all, ...params }), replace);
}

/** Lets links within the page, and the buttons of the browser, go without loading it anew. */
export function listen(): void {
  place.value = here();
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => {
    place.value = here();
    scrollBack((history.state as { y?: number } | null)?.y ?? 0);
  });
  addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!link.href.startsWith(document.baseURI) || link.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    go(link.href);
  });
}
