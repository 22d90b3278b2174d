// The palette: type where to go. It finds pages, queues, schedules, and jobs by their ids.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { useData } from "../api/data";
import type { PageQueue, PageSchedule } from "../api/schema";
import { go, href } from "../state/route";
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
  useEffect(() => dialog.current?.showModal(), []);
  const all: [string, string][] = [
    ...Object.values(places).map(([to, name]): [string, string] => [name, to]),
    ["Open a history file", "/history"],
    ...(queues.value?.items ?? []).map((q): [string, string] => ["Queue " + q.name, "/queues/" + encodeURIComponent(q.name)]),
    ...(schedules.value?.items ?? []).map((s): [string, string] => ["Schedule " + s.name, "/schedules/" + encodeURIComponent(s.name)]),
  ];
  const words = text.trim().toLowerCase();
  const found = (id.test(words) ? [["Job " + words, "/jobs/" + words] as [string, string]] : all.filter(([name]) => name.toLowerCase().includes(words))).slice(0, 12);
  const pick = (to: string | undefined) => {
    dialog.current?.close();
    if (to) go(href(to));
    else if (words) go(href("/jobs", { q: text.trim() }));
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={() => (palette.value = false)}>
      <form method="dialog" onSubmit={(e) => { e.preventDefault(); pick(found[at]?.[1]); }}>
        <input value={text} role="combobox" aria-expanded="true" aria-controls="palette-found" aria-activedescendant={found[at] && "found-" + at} placeholder="A page, a queue, a schedule, the id of a job, or a query" aria-label="Go to" autocomplete="off" spellcheck={false}
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
        {found.length === 0 && <p class="faint pad">Enter searches jobs for it.</p>}
      </form>
    </dialog>
  );
}
