// What the server calls its pages, and how they look.

const of = typeof document === "undefined" ? ({} as DOMStringMap) : document.documentElement.dataset;

export const look = { title: of.title || "Holdfast", accent: of.accent ?? "", logo: of.logo ?? "", version: of.version ?? "" };

/** Gives the pages the colour of the server. */
export function dress(): void {
  if (look.accent) document.documentElement.style.setProperty("--accent-own", look.accent);
}
