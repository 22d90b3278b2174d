// What a durable function has done: steps that it tells, what it waits for, its timeline and journal.
import { useEffect, useRef, useState } from "preact/hooks";
import { change, paused, useData, useSource, type Data } from "../api/data";
import { follow } from "../api/events";
import { path, request, urlOf } from "../api/http";
import { seen, soon } from "../api/live";
import type { Job, JournalEntry, JournalMessage, MessageItem, WholeKind } from "../api/schema";
import { may, namespace } from "../state/session";
import { runOf } from "../run/file";
import { History, Inbox } from "../run/history";
import { most, readOn, type All, type PageOf } from "../run/read";
import { Timeline } from "../run/timeline";
import { Action } from "../ui/action";
import { Card, Skeleton, State, Time, Trouble } from "../ui/basics";
import { forkForm } from "./fork";
import { awaited, callbackForm, openCallbacks, signalForm, updateForm } from "./signals";

/** The pages of a journal or an inbox of a job, after a number. */
const pagesOf = <T,>(to: string, signal: AbortSignal) => async (cursor: string) =>
  (await request<PageOf<T>>("GET", urlOf(to, { namespace: namespace.value, cursor, limit: 1000 }), undefined, { signal })).body;

/** The journal and the inbox of a job. Its own stream tells of what the feed does not, such as steps. */
function useRun(j: Job): [Data<All<JournalEntry>>, Data<All<JournalMessage>>] {
  const over = !!j.finished_at;
  const known = useRef<All<JournalEntry>>({ items: [], cut: false });
  const journal = useSource<All<JournalEntry>>("journal " + j.id, async (signal) => {
    known.current = await readOn(known.current, pagesOf<JournalEntry>(path`/jobs/${j.id}/journal`, signal));
    return { body: known.current, etag: "" };
  }, over ? "never" : "live");
  // All of it each time: what was sent before changes when it is received.
  const inbox = useSource<All<JournalMessage>>("inbox " + j.id, async (signal) => ({
    body: await readOn({ items: [], cut: false }, pagesOf<JournalMessage>(path`/jobs/${j.id}/messages`, signal)), etag: "",
  }), over ? "never" : "slow");
  useEffect(() => {
    if (over || paused.value || !seen.value || !may("events:read")) return;
    const abort = new AbortController();
    const changed = soon(() => {
      journal.due();
      inbox.due();
    });
    void follow({ url: urlOf(path`/jobs/${j.id}/events`, { namespace: namespace.value }), signal: abort.signal, onFrame: changed, onState: () => {} });
    return () => abort.abort();
  }, [journal, inbox, over, paused.value, seen.value]);
  return [journal.data.value, inbox.data.value];
}

const none: never[] = [];

/** What a run that waits does so for, and since when. Callbacks have lanes of their own. */
function waitsOf(j: Job): { names: string[]; since: number } | undefined {
  if (j.state !== "waiting" || !j.wait?.since) return undefined;
  return { names: [...awaited(j), ...awaited(j, "update")], since: Date.parse(j.wait.since) };
}

export function RunPart({ job: j }: { job: Job }) {
  const over = !!j.finished_at;
  const [journal, inbox] = useRun(j);
  if (!journal.value) return journal.error ? <Trouble error={journal.error} /> : <Skeleton rows={6} />;
  const entries = journal.value.items;
  const messages = inbox.value?.items ?? none;
  const isTold = entries.some((e) => e.kind === "published" && e.name === "steps");
  return (
    <>
      {isTold && <Told job={j} />}
      {!over && j.state === "waiting" && <Approval job={j} callbacks={openCallbacks(entries, messages)} />}
      {entries.length === 0 && messages.length === 0 && !waitsOf(j)?.names.length ? (
        <Card title="Timeline"><p class="faint">{over || j.attempt > 0 ? "It remembers nothing: a plain job has no steps. Attempts and logs tell what happened." : "It has not begun."}</p></Card>
      ) : (
        <>
          <Card title="Timeline" flush>
            <Timeline fork={may("jobs:write") ? (place) => forkForm(j.id, place) : undefined} run={{ entries, messages, began: Date.parse(j.created_at ?? ""), ended: over ? Date.parse(j.finished_at ?? "") : null, waits: waitsOf(j) }} />
          </Card>
          <History of={{ job: runOf(j), entries, messages }} began={Date.parse(j.created_at ?? "")} />
          <Inbox of={{ job: runOf(j), entries, messages }} began={Date.parse(j.created_at ?? "")} />
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
  const updates = [...new Set([...awaited(j, "update"), ...(kind.value?.descriptor?.updates ?? [])])];
  const known = kind.value?.descriptor?.signals ?? [];
  const all = names.length > 0 || called.length > 0 ? names : known;
  if (all.length === 0 && called.length === 0 && updates.length === 0) return null;
  const waits = [...names, ...called.map((c) => c.name)];
  return (
    <section class="card approval" aria-label="It waits for you">
      <h2>{waits.length > 0 ? `It waits for ${waits.join(", ")}` : "It may be told"}</h2>
      <div class="actions">
        {all.map((name) => <Action key={name} ask={signalForm(j, name)}>Answer {name}…</Action>)}
        {called.map((c) => <Action key={c.token} ask={callbackForm(c)}>Complete {c.name}…</Action>)}
        {called.map((c) => <Action key={c.token} danger ask={callbackForm(c, true)}>Let {c.name} fail…</Action>)}
        {updates.length > 0 && <Action ask={updateForm(j, updates)}>Make a request…</Action>}
      </div>
    </section>
  );
}

export interface Step {
  name: string;
  state: string;
  at: string | null;
  actions: { label: string; signal: string; payload?: unknown }[];
}

/** How many steps are drawn. */
const mostSteps = 200;

type Loose = Record<string, unknown>;
const isObject = (v: unknown): v is Loose => typeof v === "object" && v !== null && !Array.isArray(v);
const text = (v: unknown) => (typeof v === "string" ? v.slice(0, 200) : "");

function actionsOf(value: unknown): Step["actions"] {
  const list = (Array.isArray(value) ? value : []).filter(isObject).filter((a) => text(a.signal));
  return list.slice(0, 20).map((a) => ({ label: text(a.label) || text(a.signal), signal: text(a.signal), payload: a.payload }));
}

/** Steps that the run publishes under the key "steps": a list, or an object that has one. What is not as it should be is left out: user code has written it. */
export function stepsOf(value: unknown): Step[] {
  const list = Array.isArray(value) ? value : isObject(value) ? value.steps : null;
  if (!Array.isArray(list)) return [];
  return list.filter(isObject).filter((s) => text(s.name)).slice(0, mostSteps).map((s) => ({
    name: text(s.name), state: text(s.state), at: text(s.finished_at) || text(s.started_at) || null, actions: actionsOf(s.actions),
  }));
}

function Told({ job: j }: { job: Job }) {
  const data = useData<MessageItem>(path`/jobs/${j.id}/published/${"steps"}`);
  const [sent, setSent] = useState(""); // the offset of the steps of which an action was sent
  const steps = stepsOf(data.value?.value);
  if (steps.length === 0) return null;
  const offset = data.value?.offset ?? "";
  // A second click on an action of the same steps is the same answer, and not one to what comes next.
  const send = (a: Step["actions"][number], i: number) => async () => {
    await change("POST", path`/jobs/${j.id}/signals`, { name: a.signal, payload: a.payload, dedup_key: `dashboard ${offset} ${i} ${a.signal}` });
    setSent(offset);
    return `The signal ${a.signal} is sent`;
  };
  return (
    <Card title="Steps">
      <ol class="told">
        {steps.map((s, i) => (
          <li key={i}>
            <State state={s.state || "waiting"} text={s.name} /> <span class="faint">{s.state} {s.at && <Time at={s.at} />}</span>
            {may("jobs:write") && !j.finished_at && s.actions.map((a, n) => <Action key={n} disabled={sent === offset} run={send(a, i)}>{a.label}</Action>)}
          </li>
        ))}
      </ol>
    </Card>
  );
}
