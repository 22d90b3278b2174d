// Keys that do something, unless a person types, or has switched them off.
import { paused } from "../api/data";
import { focusOnNextPage } from "../state/focus";
import { shortcuts, theme } from "../state/prefs";
import { go, href, page, path } from "../state/route";
import { row } from "../state/row";
import { palette } from "./palette";

/** Where g and a letter go. */
export const places: Record<string, [string, string]> = {
  o: ["/", "Overview"], j: ["/jobs", "Jobs"], b: ["/batches", "Batches"], q: ["/queues", "Queues"], s: ["/schedules", "Schedules"], l: ["/limits", "Limits"], n: ["/nodes", "Nodes"],
  d: ["/dead", "Dead letters"], p: ["/operations", "Operations"], a: ["/audit", "Audit"], k: ["/keys", "API keys"], ",": ["/settings", "Settings"],
};

export const keys: [string, string][] = [
  ["Ctrl K", "Go to anything"], ["/", "Search jobs"], ["j k", "Next and previous row"], ["Enter", "Open the row"], ["x", "Select the row"], [".", "Pause updates"], ["t", "Light or dark"], ["?", "This list"],
  ...Object.entries(places).map(([key, [, name]]): [string, string] => ["g " + key, name]),
];

/** Whether a dialog is open: keys are for it then. */
const isAsking = () => document.querySelector("dialog[open]") !== null;

let began = 0; // when g was pressed

const rows = () => [...document.querySelectorAll<HTMLElement>("main tr[data-row]")];
const rowElement = () => rows().find((r) => r.dataset.row === row.value);

function step(by: number): void {
  const all = rows();
  const at = all.findIndex((r) => r.dataset.row === row.value);
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  row.value = next?.dataset.row ?? "";
  next?.scrollIntoView({ block: "nearest" });
  next?.querySelector<HTMLElement>("a[href]")?.focus({ preventScroll: true }); // so it is read out, and Enter opens it
}

export function listenToKeys(): void {
  page.subscribe(() => {
    row.value = "";
    palette.value = false;
  });
  addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
      e.preventDefault();
      if (isAsking()) return;
      palette.value = true;
      return;
    }
    const target = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || shortcuts.value === "off" || isAsking()) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && (target as HTMLInputElement).type !== "checkbox") return;
    if (Date.now() - began < 1500) {
      began = 0;
      const place = places[e.key];
      if (place) go(href(place[0]));
      return;
    }
    switch (e.key) {
      case "g": began = Date.now(); break;
      case "/":
        e.preventDefault();
        if (path.value === "/jobs") document.getElementById("query")?.focus();
        else {
          focusOnNextPage("#query");
          go(href("/jobs"));
        }
        break;
      case "j": step(1); break;
      case "k": step(-1); break;
      case "x": rowElement()?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click(); break;
      case "Enter": if (!target.closest("a, button, summary, [tabindex=\"0\"]")) rowElement()?.querySelector<HTMLAnchorElement>("a[href]")?.click(); break;
      case "Escape":
        row.value = "";
        break;
      case ".": paused.value = !paused.value; break;
      case "t": theme.value = isDark() ? "light" : "dark"; break;
      case "?": go(href("/settings")); break;
    }
  });
}

export const isDark = () => theme.value === "dark" || (theme.value === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
