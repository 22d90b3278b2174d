// What a durable function has done: steps that it tells, what it waits for, its timeline and journal.
import { useEffect, useMemo, useState } from "preact/hooks";
import { change, paused, useData, useSource, type Data } from "../api/data";
import { follow } from "../api/events";
import { path, request, urlOf, type Answer } from "../api/http";
import { soon } from "../api/live";
import type { Job, JournalEntry, JournalMessage, MessageItem, WholeKind } from "../api/schema";
import { param, set } from "../state/route";
import { may, namespace } from "../state/session";
import { Timeline } from "../run/timeline";
import { Action } from "../ui/action";
import { Card, Skeleton, State, Time, Trouble } from "../ui/basics";
import { Payload } from "../ui/json";
import { Table } from "../ui/table";
import { awaited, callbackForm, openCallbacks, signalForm, updateForm } from "./signals";

interface PageOf<T> {
  items: T[];
  next_cursor: string | null;
}

/** How many entries are read of a journal: beyond that the page says so. */
const most = 10_000;

interface All<T> {
  items: T[];
  cut: boolean; // there are more
}

/** Reads all pages of a journal or inbox. */
async function readAll<T>(to: string, signal: AbortSignal): Promise<Answer<All<T>>> {
  const items: T[] = [];
  let cursor: string | null = "";
  while (cursor !== null && items.length < most) {
    const { body }: Answer<PageOf<T>> = await request<PageOf<T>>("GET", urlOf(to, { namespace: namespace.value, cursor, limit: 1000 }), undefined, { signal });
    items.push(...body.items);
    cursor = body.next_cursor;
  }
  return { body: { items, cut: cursor !== null }, etag: "" };
}

/** The journal and the inbox of a job. Its own stream tells of what the feed does not, such as steps. */
function useRun(j: Job): [Data<All<JournalEntry>>, Data<All<JournalMessage>>] {
  const over = !!j.finished_at;
  const journal = useSource<All<JournalEntry>>("journal " + j.id, (signal) => readAll(path`/jobs/${j.id}/journal`, signal), over ? "never" : "live");
  const inbox = useSource<All<JournalMessage>>("inbox " + j.id, (signal) => readAll(path`/jobs/${j.id}/messages`, signal), over ? "never" : "live");
  useEffect(() => {
    if (over || paused.value || !may("events:read")) return;
    const abort = new AbortController();
    const changed = soon(() => {
      journal.due();
      inbox.due();
    });
    void follow({ url: urlOf(path`/jobs/${j.id}/events`, { namespace: namespace.value }), signal: abort.signal, onFrame: changed, onState: () => {} });
    return () => abort.abort();
  }, [journal, inbox, over, paused.value]);
  return [journal.data.value, inbox.data.value];
}

const none: never[] = [];

export function RunPart({ job: j }: { job: Job }) {
  const over = !!j.finished_at;
  const [journal, inbox] = useRun(j);
  if (!journal.value) return journal.error ? <Trouble error={journal.error} /> : <Skeleton rows={6} />;
  const entries = journal.value.items;
  const messages = inbox.value?.items ?? none;
  const isTold = entries.some((e) => e.kind === "published" && e.name === "steps");
  return (
    <>
      {!over && j.state === "waiting" && <Approval job={j} callbacks={openCallbacks(entries, messages)} />}
      {isTold && <Told job={j} />}
      {entries.length === 0 && messages.length === 0 ? (
        <Card title="A plain job"><p class="faint">It remembers nothing: it has no steps, so it has no timeline. Attempts and logs tell what happened.</p></Card>
      ) : (
        <>
          <Card title="Timeline" flush>
            <Timeline run={{ entries, messages, began: Date.parse(j.created_at ?? ""), ended: over ? Date.parse(j.finished_at ?? "") : null }} />
          </Card>
          <History entries={entries} messages={messages} began={Date.parse(j.created_at ?? "")} />
          {journal.value.cut && <p class="faint pad">Only the first {most} entries are shown. The command has all: holdfast job journal {j.id}</p>}
        </>
      )}
    </>
  );
}

/** The forms of a run that waits for a person. */
function Approval({ job: j, callbacks }: { job: Job; callbacks: { name: string; token: string }[] }) {
  const kind = useData<WholeKind>(may("queues:read") ? path`/kinds/${j.kind}` : null, {}, "never");
  if (!may("jobs:write")) return null;
  const names = awaited(j);
  const called = callbacks.filter((c) => awaited(j, "callback").includes(c.name));
  const updates = kind.value?.descriptor?.updates ?? [];
  const known = kind.value?.descriptor?.signals ?? [];
  const all = names.length > 0 || called.length > 0 ? names : known;
  if (all.length === 0 && called.length === 0 && updates.length === 0) return null;
  const waits = [...names, ...called.map((c) => c.name)];
  return (
    <section class="card approval" aria-label="It waits for you">
      <h2>{waits.length > 0 ? `It waits for ${waits.join(", ")}` : "It may be told"}</h2>
      <div class="actions">
        {all.map((name) => <Action key={name} ask={signalForm(j, name, "true")}>Answer {name}…</Action>)}
        {called.map((c) => (
          <>
            <Action ask={callbackForm(c)}>Complete {c.name}…</Action>
            <Action danger ask={callbackForm(c, true)}>Let {c.name} fail…</Action>
          </>
        ))}
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
