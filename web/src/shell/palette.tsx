// The palette: type where to go. It finds pages, things by their names, and jobs.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { useData } from "../api/data";
import type { NodePage, PageKind, PageLimit, PageQueue, PageSchedule } from "../api/schema";
import { by } from "../pages/query";
import { go, href, placeOf } from "../state/route";
import { may } from "../state/session";
import { places } from "./keys";

export const palette = signal(false);

const id = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;

export function Palette() {
  return palette.value ? <Open /> : null;
}

function Open() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const queues = useData<PageQueue>(may("queues:read") ? "/queues" : null, { limit: 200 }, "never");
  const schedules = useData<PageSchedule>(may("schedules:read") ? "/schedules" : null, { limit: 200 }, "never");
  const kinds = useData<PageKind>(may("queues:read") ? "/kinds" : null, { limit: 200 }, "never");
  const nodes = useData<NodePage>(may("nodes:read") ? "/nodes" : null, { limit: 200, alive: true }, "never");
  const limits = useData<PageLimit>(may("limits:read") ? "/limits" : null, { limit: 200 }, "never");
  useEffect(() => dialog.current?.showModal(), []);
  const jobs = (name: string, of: string): [string, string] => [name, "/jobs?q=" + encodeURIComponent(of)];
  const all: [string, string][] = [
    ...Object.values(places).map(([to, name]): [string, string] => [name, to]),
    ["Open a history file", "/history"],
    ...(queues.value?.items ?? []).map((q): [string, string] => ["Queue " + q.name, "/queues/" + encodeURIComponent(q.name)]),
    ...(schedules.value?.items ?? []).map((s): [string, string] => ["Schedule " + s.name, "/schedules/" + encodeURIComponent(s.name)]),
    ...(kinds.value?.items ?? []).map((k) => jobs("Jobs of kind " + k.name, by("kind", k.name))),
    ...(nodes.value?.items ?? []).map((n): [string, string] => ["Node " + n.name, "/nodes/" + n.id]),
    ...(limits.value?.items ?? []).map((l): [string, string] => ["Limit " + l.name, "/limits/" + encodeURIComponent(l.name)]),
  ];
  const words = text.trim().toLowerCase();
  const typed = text.trim();
  const named = id.test(words) ? [["Job " + words, "/jobs/" + words] as [string, string]] : all.filter(([name]) => name.toLowerCase().includes(words)).slice(0, 12);
  const asked = typed.includes(":") ? [jobs("Jobs that are " + typed, typed)] : [jobs(`Jobs with the tag ${typed}`, by("tag", typed)), jobs(`Jobs of kind ${typed}`, by("kind", typed))];
  const lists = [may("queues:read") && queues, may("schedules:read") && schedules, may("queues:read") && kinds, may("nodes:read") && nodes, may("limits:read") && limits];
  const isKnown = typed.includes(":") || lists.every((d) => d === false || !d.loading); // else it may be a name that is not read yet
  const found = named.length > 0 || !typed ? named : isKnown ? asked : [];
  const pick = (to: string | undefined) => {
    dialog.current?.close();
    if (!to) return;
    const { path, query } = placeOf(new URL(to.slice(1), document.baseURI).href, document.baseURI);
    go(href(path, Object.fromEntries(query)));
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={() => (palette.value = false)}>
      <form method="dialog" onSubmit={(e) => { e.preventDefault(); pick(found[at]?.[1]); }}>
        <input value={text} role="combobox" aria-expanded="true" aria-controls="palette-found" aria-activedescendant={found[at] && "found-" + at} placeholder="A page, a queue, a kind, a node, the id of a job, or a query" aria-label="Go to" autocomplete="off" spellcheck={false}
          onInput={(e) => { setText(e.currentTarget.value); setAt(0); }}
          onKeyDown={(e) => {
            if (e.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
            else if (e.key === "ArrowUp") setAt(Math.max(0, at - 1));
            else return;
            e.preventDefault();
          }} />
        <ul id="palette-found" role="listbox" aria-label="Places">
          {found.map(([name, to], i) => <li key={to} id={"found-" + i} role="option" aria-selected={i === at} class={i === at ? "current" : ""} onClick={() => pick(to)}>{name}</li>)}
        </ul>
        {found.length === 0 && <p class="faint pad">{isKnown ? "Nothing has that name." : "Looking…"}</p>}
      </form>
    </dialog>
  );
}
