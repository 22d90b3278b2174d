// What a durable function has done: steps that it tells, what it waits for, its timeline and journal.
import { useEffect, useMemo, useState } from "preact/hooks";
import { change, useData } from "../api/data";
import { path, request, urlOf } from "../api/http";
import { changes } from "../api/live";
import type { Job, JournalEntry, JournalMessage, MessageItem, WholeKind } from "../api/schema";
import { param, set } from "../state/route";
import { may, namespace } from "../state/session";
import { Timeline } from "../run/timeline";
import { Action } from "../ui/action";
import { Card, Skeleton, State, Time, Trouble } from "../ui/basics";
import { Payload } from "../ui/json";
import { Table } from "../ui/table";
import { Failure } from "../api/http";
import { awaited, signalForm, updateForm } from "./signals";

interface PageOf<T> {
  items: T[];
  next_cursor: string | null;
}

/** How many entries are read of a journal: beyond that the page says so. */
const most = 10_000;

/** All of a journal or inbox. It only grows, so once read the rest is read from its end on. */
function useAll<T>(to: string): { items: T[]; error?: Failure; loading: boolean; cut: boolean } {
  const [state, setState] = useState<{ items: T[]; error?: Failure; loading: boolean; cut: boolean }>({ items: [], loading: true, cut: false });
  const tick = changes.value;
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => void read(), state.loading ? 0 : 300);
    const read = async () => {
      const items: T[] = [];
      let cursor: string | null = "";
      try {
        while (cursor !== null && items.length < most) {
          const { body }: { body: PageOf<T> } = await request<PageOf<T>>("GET", urlOf(to, { namespace: namespace.value, cursor, limit: 1000 }), undefined, { signal: abort.signal });
          items.push(...body.items);
          cursor = body.next_cursor;
        }
        setState({ items, loading: false, cut: cursor !== null });
      } catch (error) {
        if (!abort.signal.aborted) setState((s) => ({ ...s, error: error as Failure, loading: false }));
      }
    };
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [to, tick]);
  return state;
}

export function RunPart({ job: j }: { job: Job }) {
  const journal = useAll<JournalEntry>(path`/jobs/${j.id}/journal`);
  const inbox = useAll<JournalMessage>(path`/jobs/${j.id}/messages`);
  const over = !!j.finished_at;
  if (journal.loading) return <Skeleton rows={6} />;
  if (journal.error) return <Trouble error={journal.error} />;
  const isTold = journal.items.some((e) => e.kind === "published" && e.name === "steps");
  return (
    <>
      {!over && j.state === "waiting" && <Approval job={j} />}
      {isTold && <Told job={j} />}
      {journal.items.length === 0 && inbox.items.length === 0 ? (
        <Card title="A plain job"><p class="faint">It remembers nothing: it has no steps, so it has no timeline. Attempts and logs tell what happened.</p></Card>
      ) : (
        <>
          <Card title="Timeline" flush>
            <Timeline run={{ entries: journal.items, messages: inbox.items, began: Date.parse(j.created_at ?? ""), ended: over ? Date.parse(j.finished_at ?? "") : null }} />
          </Card>
          <History entries={journal.items} messages={inbox.items} began={Date.parse(j.created_at ?? "")} />
          {journal.cut && <p class="faint pad">Only the first {most} entries are shown. The command has all: holdfast job journal {j.id}</p>}
        </>
      )}
    </>
  );
}

/** The forms of a run that waits for a person. */
function Approval({ job: j }: { job: Job }) {
  const kind = useData<WholeKind>(may("queues:read") ? path`/kinds/${j.kind}` : null, {}, "never");
  if (!may("jobs:write")) return null;
  const names = awaited(j);
  const updates = kind.value?.descriptor?.updates ?? [];
  const known = kind.value?.descriptor?.signals ?? [];
  const all = names.length > 0 ? names : known;
  if (all.length === 0 && updates.length === 0) return null;
  return (
    <section class="card approval" aria-label="It waits for you">
      <h2>{names.length > 0 ? `It waits for ${names.join(", ")}` : "It may be told"}</h2>
      <div class="actions">
        {all.map((name) => <Action key={name} ask={signalForm(j, name, "true")}>Answer {name}…</Action>)}
        {updates.length > 0 && <Action ask={updateForm(j, updates)}>Make a request…</Action>}
      </div>
    </section>
  );
}

interface Step {
  name: string;
  state?: string;
  started_at?: string;
  finished_at?: string;
  actions?: { label: string; signal: string; payload?: unknown }[];
}

/** Steps that the run publishes under the key "steps": a list, or an object that has one. */
export function stepsOf(value: unknown): Step[] {
  const list = Array.isArray(value) ? value : (value as { steps?: unknown } | null)?.steps;
  if (!Array.isArray(list)) return [];
  return list.filter((s): s is Step => typeof s === "object" && s !== null && typeof (s as Step).name === "string");
}

function Told({ job: j }: { job: Job }) {
  const data = useData<MessageItem>(path`/jobs/${j.id}/published/${"steps"}`);
  const steps = stepsOf(data.value?.value);
  if (steps.length === 0) return null;
  return (
    <Card title="Steps">
      <ol class="told">
        {steps.map((s) => (
          <li key={s.name}>
            <State state={s.state ?? "waiting"} text={s.name} /> <span class="faint">{s.state} {s.started_at && <Time at={s.finished_at ?? s.started_at} />}</span>
            {may("jobs:write") && !j.finished_at && s.actions?.map((a) => (
              <Action key={a.label} run={async () => {
                await change("POST", path`/jobs/${j.id}/signals`, { name: a.signal, payload: a.payload });
                return `The signal ${a.signal} is sent`;
              }}>{a.label}</Action>
            ))}
          </li>
        ))}
      </ol>
    </Card>
  );
}

const categories: Record<string, string[]> = {
  steps: ["step", "step retry", "step failed"], waits: ["timer", "timeout", "received", "callback", "awaited"], children: ["child"], told: ["published", "streamed"],
};

/** The journal as it is: each entry, or the last of each place, or JSON. */
function History({ entries, messages, began }: { entries: JournalEntry[]; messages: JournalMessage[]; began: number }) {
  const form = param("history") || "compact";
  const only = param("only");
  const [from, setFrom] = useState(0);
  const shown = useMemo(() => {
    const of = only ? entries.filter((e) => categories[only]?.includes(e.kind)) : entries;
    if (form !== "compact") return of;
    const last = new Map<string, JournalEntry>();
    for (const e of of) last.set(e.path || "seq " + e.seq, e);
    return [...last.values()];
  }, [entries, only, form]);
  useEffect(() => setFrom(0), [only, form]);
  const size = 50;
  const download = () => {
    const url = URL.createObjectURL(new Blob([JSON.stringify({ entries, messages }, null, 2)], { type: "application/json" }));
    const link = Object.assign(document.createElement("a"), { href: url, download: "journal.json" });
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Card title="History" flush extra={
      <div class="toolbar">
        <div class="segments" role="group" aria-label="Form of the history">
          {["compact", "feed", "json"].map((f) => <button key={f} aria-pressed={form === f} onClick={() => set({ history: f === "compact" ? "" : f }, true)}>{f}</button>)}
        </div>
        <label><span class="hidden">Only</span><select value={only} onChange={(e) => set({ only: e.currentTarget.value }, true)}>{["", ...Object.keys(categories)].map((c) => <option key={c} value={c}>{c || "all"}</option>)}</select></label>
        <button onClick={download}>Download</button>
      </div>
    }>
      {form === "json" ? <Payload value={shown.slice(0, 2000)} name="history" /> : (
        <>
          <Table<JournalEntry> caption="History" rows={shown.slice(from, from + size)} id={(e) => e.seq ?? ""} columns={[
            { name: "#", num: true, cell: (e) => e.seq },
            { name: "After", num: true, cell: (e) => <span title={e.at ?? ""}>{e.at ? ((Date.parse(e.at) - began) / 1000).toFixed(3) + "s" : "–"}</span> },
            { name: "Place", cell: (e) => <span class="mono">{e.path}</span> },
            { name: "What", cell: (e) => e.kind },
            { name: "Name", cell: (e) => e.name },
            { name: "Took", num: true, cell: (e) => e.took ?? "" },
            { name: "Data", wide: true, cell: (e) => <code class="clip">{e.data === null || e.data === undefined ? "" : JSON.stringify(e.data).slice(0, 200)}</code> },
          ]} />
          {shown.length > size && (
            <nav class="pages" aria-label="Pages of the history">
              <button disabled={from === 0} onClick={() => setFrom(from - size)}>← Earlier</button>
              <span class="faint">{from + 1} to {Math.min(from + size, shown.length)} of {shown.length}</span>
              <button disabled={from + size >= shown.length} onClick={() => setFrom(from + size)}>Later →</button>
            </nav>
          )}
        </>
      )}
    </Card>
  );
}
