// What is around each page: where one can go, in which namespace, and whether it is live.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { failing, paused, selecting, useData } from "../api/data";
import { live } from "../api/live";
import type { PageNamespace } from "../api/schema";
import { ahead } from "../state/clock";
import { theme, zone } from "../state/prefs";
import { go, href, path } from "../state/route";
import { caller, namespace } from "../state/session";
import { look } from "../state/look";
import { time } from "../ui/format";
import { isDark, places } from "./keys";
import { Logo } from "./logo";
import { palette } from "./palette";

const links: [string, string, string][] = [
  ["/", "Overview", ""], ["/jobs", "Jobs", "jobs:read"], ["/batches", "Batches", "jobs:read"], ["/queues", "Queues", "queues:read"], ["/schedules", "Schedules", "schedules:read"], ["/limits", "Limits", "limits:read"],
  ["/nodes", "Nodes", "nodes:read"], ["/dead", "Dead letters", "dead:read"], ["/operations", "Operations", "operations:read"], ["/audit", "Audit", "audit:read"], ["/keys", "API keys", "keys:admin"], ["/settings", "Settings", ""],
];

const isOn = (to: string) => path.value === to || (to !== "/" && path.value.startsWith(to + "/"));

export function Shell({ children }: { children: ComponentChildren }) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const on = nav.current?.querySelector<HTMLElement>("a[aria-current]");
    if (nav.current && on) nav.current.scrollLeft = on.offsetLeft - nav.current.clientWidth / 2; // where it is a strip
  }, [path.value]);
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the page</a>
      <nav class="side" aria-label="Main" ref={nav}>
        <a class="brand" href={href("/")}><Logo /> <span>{look.title}</span></a>
        {links.filter(([, , scope]) => !scope || caller.value?.scopes.includes(scope)).map(([to, name]) => (
          <a key={to} href={href(to)} aria-current={isOn(to) ? "page" : undefined} title={"g " + Object.entries(places).find(([, [p]]) => p === to)?.[0]}>{name}</a>
        ))}
        <p class="foot">{caller.value?.store} {look.version && look.version !== "(devel)" && look.version}</p>
      </nav>
      <div class="body">
        <header class="top">
          <Namespaces />
          <span class="grow" />
          <Stale />
          <Live />
          <button class="quiet" onClick={() => (palette.value = true)} title="Ctrl K">Go to…</button>
          <button class="quiet" onClick={() => (zone.value = zone.value === "utc" ? "local" : "utc")} title="Times of this place, or UTC">{zone.value === "utc" ? "UTC" : "Local"}</button>
          <button class="quiet" aria-label={isDark() ? "Light colours" : "Dark colours"} title="t" onClick={() => (theme.value = isDark() ? "light" : "dark")}>{isDark() ? "☀" : "☾"}</button>
          <a class="quiet" href={href("/settings")} title="Who you are">{caller.value?.name}</a>
          {caller.value?.read_only && <span class="tag">read-only</span>}
        </header>
        <main id="main" tabIndex={-1}>{children}</main>
      </div>
    </div>
  );
}

function Namespaces() {
  const data = useData<PageNamespace>("/namespaces", { limit: 200 }, "never");
  const all = new Set([namespace.value, ...(data.value?.items.map((n) => n.name) ?? [])]);
  return (
    <label class="namespace">
      <span class="hidden">Namespace</span>
      <select value={namespace.value} onChange={(e) => go(href("/" + (path.value.split("/")[1] ?? ""), { namespace: e.currentTarget.value }))}>
        {[...all].sort().map((n) => <option key={n} value={n}>{n}</option>)}
      </select>
    </label>
  );
}

/** That what is shown is not all as it is now. */
function Stale() {
  const all = [...failing.value.values()];
  const first = all.reduce<(typeof all)[number] | undefined>((a, b) => (a && a.since <= b.since ? a : b), undefined);
  return (
    <span role="status">
      {first && <span class="tag stale" title={first.error.message}>Not up to date since {time(first.since + ahead.value, zone.value === "utc").slice(11, 19)}: {first.error.message}</span>}
    </span>
  );
}

const words = {
  live: "Live", paused: "Paused", connecting: "Connecting…", asking: "Every 15 s",
};

function Live() {
  const state = paused.value || selecting.value ? "paused" : live.value;
  return (
    <button class={"live " + state} aria-pressed={paused.value} title="Pause updates ( . )" onClick={() => (paused.value = !paused.value)}>
      <i aria-hidden="true" /> {words[state]}
    </button>
  );
}
