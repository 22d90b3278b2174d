// One job: what is known of it, why it does not run, what it has done, and what can be done with it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { change, useData } from "../api/data";
import { path } from "../api/http";
import type { Attempt, AttemptList, Cause, Changed, Job, LogLine, LogList, Node, PageJob, Why } from "../api/schema";
import { now } from "../state/clock";
import { go, href, param, set } from "../state/route";
import { may } from "../state/session";
import { Action, json, type Ask, type Field } from "../ui/action";
import { Card, CopyAs, Facts, JobLink, Meter, Page, QueueLink, State, Time, Waits } from "../ui/basics";
import { duration, percent } from "../ui/format";
import { Payload } from "../ui/json";
import { Fence } from "../ui/fence";
import { Menu } from "../ui/menu";
import { Table } from "../ui/table";
import { enqueue } from "./enqueue";
import { attributes, plainColumns, stateText } from "./jobs";
import { forkForm } from "./fork";
import { by } from "./query";
import { RunPart } from "./run";
import { signalForm } from "./signals";

const final = ["completed", "failed", "cancelled"];

export function JobPage({ id }: { id: string }) {
  const [runs, setRuns] = useState(false);
  const data = useData<Job>(path`/jobs/${id}`, {}, runs ? "watch" : "live"); // of progress there are no events
  const j = data.value;
  useEffect(() => setRuns(j?.state === "running"), [j?.state]);
  return j ? <Loaded key={j.id} job={j} /> : <Waits page of={data} rows={8} />;
}

/** The part that is opened first: what a person wants to see of such a job. */
function usualTab(j: Job): string {
  if (j.journal || j.messages || !final.includes(j.state)) return "run";
  return j.state === "failed" ? "attempts" : "payload";
}

function Loaded({ job: j }: { job: Job }) {
  const usual = useRef(usualTab(j)).current; // it stays if the job ends meanwhile
  const tabs: [string, string, () => ComponentChildren][] = [
    ["run", "Run", () => <RunPart job={j} />],
    ["payload", "Input and output", () => <Payloads job={j} />],
    ["attempts", "Attempts", () => <Attempts job={j} />],
    ["logs", "Logs", () => <Logs id={j.id} />],
    ["children", "Children", () => <Children id={j.id} />],
    ["raw", "Raw", () => <Card title="The job as the API has it"><Payload value={j} name="job" /></Card>],
  ];
  const tab = tabs.find(([name]) => name === (param("tab") || usual)) ?? (tabs[0] as (typeof tabs)[number]);
  return (
    <Page title={<>{j.kind} <State state={j.state} text={stateText(j)} /></>} crumbs={<><a href={href("/jobs")}>Jobs</a> / <span class="mono">{j.id}</span></>} actions={<Actions job={j} />}>
      <div class="job">
        <aside>
          <div class="notes">
            {j.error && j.state !== "completed" && <div class={final.includes(j.state) ? "trouble" : "note"} role={j.state === "failed" ? "alert" : undefined}><strong>{reasonOf(j)}</strong><pre class="wrap">{j.error}</pre></div>}
            {!final.includes(j.state) && <WhyNot job={j} />}
          </div>
          <Card title="Facts"><FactsOf job={j} /></Card>
          <Card title="Lifecycle"><Lifecycle job={j} /></Card>
        </aside>
        <div>
          <nav class="tabs" aria-label="Parts of the job">
            {tabs.map(([name, label]) => <a key={name} href={href("/jobs/" + j.id, { tab: name })} aria-current={tab[0] === name ? "page" : undefined}>{label}</a>)}
          </nav>
          <Fence key={tab[0]}>{tab[2]()}</Fence>
        </div>
      </div>
    </Page>
  );
}

const reasonOf = (j: Job) => (j.reason ? j.reason.replaceAll("_", " ") : final.includes(j.state) ? "error" : `error of attempt ${j.attempt}`);

/** Why the job does not run, or has not finished. */
function WhyNot({ job: j }: { job: Job }) {
  const data = useData<Why>(j.state === "running" && !j.journal ? null : path`/jobs/${j.id}/why`);
  const all = data.value?.why ?? [];
  if (all.length === 0) return null;
  return (
    <section class="note" aria-label="Why it has not finished">
      <strong>Why it has not finished</strong>
      <ul>{all.map((c: Cause) => (
        <li key={c.code + c.text}>
          {c.text} {c.until && !c.text.includes("until") && <span class="faint">(<Time at={c.until} />)</span>} {c.job && c.job !== j.id && <JobLink id={c.job} />} {c.limit && <a href={href("/limits/" + encodeURIComponent(c.limit))}>{c.limit}</a>}
        </li>
      ))}</ul>
    </section>
  );
}

function FactsOf({ job: j }: { job: Job }) {
  return (
    <Facts of={[
      ["Queue", <QueueLink key="q" name={j.queue} />],
      ["Priority", String(j.priority)],
      ["Attempt", `${j.attempt}${j.max_attempts ? " of " + j.max_attempts : ""}`],
      ["Key", j.key], ["Ordering key", j.ordering_key], ["Fair key", j.fair_key],
      ["Limit", j.limit && <a href={href("/limits/" + encodeURIComponent(j.limit))}>{j.limit}{j.limit_key && ": " + j.limit_key}</a>],
      ["Node", j.node && <NodeLink id={j.node} />],
      ["Source", j.source], ["Version", j.version], ["Build", j.build?.program],
      ["Parent", j.parent && <JobLink id={j.parent} />],
      ["Batch", j.batch && <a class="mono" href={href("/batches/" + j.batch)}>{j.batch.slice(0, 13)}…</a>],
      ["Follows", j.follows && <JobLink id={j.follows} />],
      ["Predecessors", j.predecessors && j.predecessors.length > 0 && j.predecessors.map((p) => <div key={p.job}><JobLink id={p.job} /> <State state={p.state} /></div>)],
      ["Timeout", j.timeout], ["Deadline", j.deadline && <Time at={j.deadline} precise />],
      ["Tags", j.tags && j.tags.length > 0 && j.tags.map((t) => <a key={t} class="tag" href={href("/jobs", { q: by("tag", t) })}>{t}</a>)],
      ["Attributes", attributes(j)],
      ["Fingerprint", j.fingerprint && <a class="mono" href={href("/dead/" + j.fingerprint)}>{j.fingerprint}</a>],
      ["Trace", j.traceparent && <span class="mono break">{j.traceparent}</span>],
      ["Progress", j.checkpoint && <Meter value={j.checkpoint.percent} of={100} label={`${percent(j.checkpoint.percent)} ${j.checkpoint.message ?? ""}`} />],
    ]} />
  );
}

/** A node by its name, which only its own page has: jobs have numbers. */
function NodeLink({ id }: { id: string }) {
  const node = useData<Node>(may("nodes:read") ? path`/nodes/${id}` : null, {}, "never");
  return <a href={href("/nodes/" + id)}>{node.value?.name ?? id}</a>;
}

/** What was recorded of the job's way: these are times that are stored, not guessed. */
function Lifecycle({ job: j }: { job: Job }) {
  const events: { at: string | null; text: ComponentChildren; state?: string }[] = [{ at: j.created_at, text: "created", state: "scheduled" }];
  for (const a of j.attempts ?? []) {
    if (a.started_at) events.push({ at: a.started_at, text: `attempt ${a.number} started`, state: "running" });
    events.push({ at: a.ended_at, text: `attempt ${a.number}: ${a.outcome}`, state: a.outcome === "failed" ? "failed" : "retryable" });
  }
  for (const a of j.actions ?? []) events.push({ at: a.at, text: <>{a.action} by {a.actor ?? "unknown"}{a.reason && <span class="faint"> “{a.reason}”</span>}</> });
  const began = j.started_at ?? (j.state === "running" ? j.claimed_at : null);
  if (began && !final.includes(j.state)) events.push({ at: began, text: `attempt ${Math.max(j.attempt, 1)} ${j.journal ? "went on" : "started"}`, state: "running" });
  else if (began && j.state === "completed") events.push({ at: began, text: j.journal ? "went on for the last time" : "last attempt started", state: "running" });
  if (j.finished_at) events.push({ at: j.finished_at, text: j.state, state: j.state });
  const seen = events.filter((e) => e.at).sort((a, b) => Date.parse(a.at as string) - Date.parse(b.at as string));
  if (!j.finished_at && (j.state === "scheduled" || j.state === "retryable")) seen.push({ at: j.run_at, text: "due", state: "scheduled" });
  return (
    <ol class="lifecycle">
      {seen.map((e, i) => {
        const before = seen[i - 1];
        const after = before ? Date.parse(e.at as string) - Date.parse(before.at as string) : 0;
        return (
          <li key={i} class={e.state}>
            <span>{e.text}</span>
            <span class="faint"><Time at={e.at} />{after > 0 && Date.parse(e.at as string) <= now.value && ` · +${duration(after)}`}</span>
          </li>
        );
      })}
    </ol>
  );
}

function Payloads({ job: j }: { job: Job }) {
  return (
    <>
      <Card title="Input"><Payload value={j.args} name="input" /></Card>
      <Card title="Output"><Payload value={j.result} name="output" /></Card>
      <Card title="Metadata"><Payload value={j.metadata} name="metadata" /></Card>
      {j.checkpoint?.value !== undefined && j.checkpoint?.value !== null && <Card title="Checkpoint"><Payload value={j.checkpoint.value} name="checkpoint" /></Card>}
    </>
  );
}

function Attempts({ job: j }: { job: Job }) {
  const data = useData<AttemptList>(path`/jobs/${j.id}/attempts`);
  if (!data.value) return <Waits of={data} />;
  const all = data.value.items;
  if (all.length === 0) return <p class="faint pad">No attempt has failed: only those that did not complete the job are kept.</p>;
  const ran = (a: Attempt) => (a.started_at && a.ended_at ? duration(Date.parse(a.ended_at) - Date.parse(a.started_at)) : "–");
  return (
    <div class="attempts">
      {[...all].reverse().map((a) => (
        <details key={`${a.number} ${a.lease_number}`} open={a === all.at(-1)}>
          <summary><b>Attempt {a.number}</b> <State state={a.outcome} /> <span class="faint">ran {ran(a)} · <Time at={a.ended_at} /> · node {a.node ?? "–"} {a.reason && "· " + a.reason}</span></summary>
          {a.error && <pre class="wrap" tabIndex={0}>{a.error}</pre>}
          {a.trace && <pre class="stack" tabIndex={0}>{a.trace}</pre>}
        </details>
      ))}
    </div>
  );
}

function Logs({ id }: { id: string }) {
  const level = param("level");
  const data = useData<LogList>(path`/jobs/${id}/logs`, { level });
  if (!data.value) return <Waits of={data} />;
  const all = data.value.items;
  return (
    <>
      <div class="toolbar">
        <label>Level <select value={level} onChange={(e) => set({ level: e.currentTarget.value }, true)}>{["", "debug", "info", "warn", "error"].map((l) => <option key={l} value={l}>{l || "all"}</option>)}</select></label>
      </div>
      {all.length === 0 ? <p class="faint pad">It has logged nothing. A handler logs with the logger of its context.</p> : (
        <Table<LogLine> caption="Logs" rows={all} id={(l) => `${l.attempt} ${l.lease} ${l.number}`} columns={[
          { name: "Time", cell: (l) => <Time at={l.time} precise /> },
          { name: "Attempt", num: true, cell: (l) => l.attempt },
          { name: "Level", cell: (l) => <span class={"level " + l.level.toLowerCase()}>{l.level}</span> },
          { name: "Message", cell: (l) => <span class="wrap">{l.message} {l.attrs !== null && l.attrs !== undefined && <code class="faint">{JSON.stringify(l.attrs)}</code>}{l.dropped && <i class="faint"> {l.dropped} lines were dropped</i>}</span> },
        ]} />
      )}
    </>
  );
}

function Children({ id }: { id: string }) {
  const data = useData<PageJob>("/jobs", { parent: id, limit: 200, sort: "oldest" });
  if (!data.value) return <Waits of={data} />;
  if (data.value.items.length === 0) return <p class="faint pad">It has started no children.</p>;
  return (
    <>
      <Table caption="Children" rows={data.value.items} id={(j) => j.id} columns={plainColumns} />
      {data.value.next_cursor && <p class="pad"><a href={href("/jobs", { q: "parent:" + id, sort: "oldest" })}>All of them</a></p>}
    </>
  );
}

type Verb = "retry" | "cancel" | "pause" | "resume" | "terminate" | "skip";

function verb(id: string, name: Verb, title: string, o: { text?: string; danger?: boolean } = {}): Ask {
  return {
    title, text: o.text, danger: o.danger, yes: title, fields: [{ name: "reason", label: "Reason, which is recorded" }],
    run: async (v, { once }) => {
      const done = await change<Changed>("POST", path`/jobs/${id}/${name}`, { reason: v.reason || undefined }, { once });
      if (done.error) throw new Error(done.error);
      return `${title}: done`;
    },
  };
}

/** The fields of an edit, with what they are now. */
function edit(j: Job): Ask {
  const fields: Field[] = [
    { name: "queue", label: "Queue", value: j.queue }, { name: "priority", label: "Priority, 1 to 4", type: "number", value: String(j.priority) },
    { name: "delay", label: "Due in", hint: "such as 10m; as it is, if it is empty" },
    { name: "max_attempts", label: "Attempts at most", type: "number", value: j.max_attempts ? String(j.max_attempts) : "" },
    { name: "timeout", label: "Timeout", value: j.timeout ?? "" },
    { name: "args", label: "Args, as JSON", type: "json", value: may("payloads:read") ? JSON.stringify(j.args, null, 2) : "", hint: may("payloads:read") ? undefined : "as they are, if it is empty" },
    { name: "reason", label: "Reason, which is recorded" },
  ];
  const was = Object.fromEntries(fields.map((f) => [f.name, f.value ?? ""]));
  return {
    title: "Edit the job", yes: "Save", fields,
    run: async (v) => {
      const body: Record<string, unknown> = { reason: v.reason || undefined };
      for (const f of ["queue", "delay", "timeout"]) if (v[f] !== was[f]) body[f] = v[f];
      for (const f of ["priority", "max_attempts"]) if (v[f] !== was[f]) body[f] = Number(v[f]);
      if (v.args !== was.args) body.args = json(v.args);
      await change("PATCH", path`/jobs/${j.id}`, body);
      return "The job is changed";
    },
  };
}

function Actions({ job: j }: { job: Job }) {
  const over = final.includes(j.state);
  const wasOver = useRef(over).current;
  const shown = !over || !wasOver; // a job that ends while somebody points at a button leaves the buttons where they are
  const isHeld = !!j.wait?.held || j.pause_requested;
  const write = may("jobs:write");
  const mayListen = !!j.journal || !!j.messages || j.attempt === 0; // a plain job that has begun hears nothing
  const id = j.id;
  const remove: Ask = {
    title: "Delete the job", yes: "Delete", danger: true, text: "It is gone for good, with what it remembers.",
    run: async () => {
      await change("DELETE", path`/jobs/${id}`);
      go(href("/jobs"));
      return "The job is deleted";
    },
  };
  return (
    <>
      {write && over && <Action ask={verb(id, "retry", "Retry", { text: j.state === "completed" ? "It has completed: it runs once more." : undefined })}>Retry</Action>}
      {write && !over && j.state === "retryable" && <Action run={async () => { await change("PATCH", path`/jobs/${id}`, { delay: "0s" }); return "It is due now"; }}>Retry now</Action>}
      {write && !over && j.state === "scheduled" && <Action run={async () => { await change("PATCH", path`/jobs/${id}`, { delay: "0s" }); return "It is due now"; }}>Run now</Action>}
      {write && shown && (isHeld ? <Action disabled={over} ask={verb(id, "resume", "Resume")}>Resume</Action> : <Action disabled={over} ask={verb(id, "pause", "Pause")}>Pause</Action>)}
      {write && shown && mayListen && <Action disabled={over} ask={signalForm(j)}>Send a signal</Action>}
      {write && shown && <Action disabled={over || j.cancel_requested} danger ask={verb(id, "cancel", "Cancel", { danger: true, text: j.state === "running" ? "It is asked to stop." : undefined })}>Cancel</Action>}
      <Menu name="More">
        {write && !over && <Action ask={edit(j)}>Edit…</Action>}
        {write && <Action ask={enqueue({ kind: j.kind, queue: j.queue, args: may("payloads:read") ? JSON.stringify(j.args, null, 2) : "" })}>Enqueue a copy…</Action>}
        {write && (j.journal ?? 0) > 0 && <Action ask={forkForm(id)}>Fork…</Action>}
        {write && !over && <Action danger ask={verb(id, "terminate", "Terminate", { danger: true, text: "It ends at once: what it has done is not undone, and its handler is not asked." })}>Terminate…</Action>}
        {write && j.keep_turn && <Action ask={verb(id, "skip", "Let the next of its key go on")}>Skip…</Action>}
        {write && over && <Action danger ask={remove}>Delete…</Action>}
        {!write && <span class="pad faint">You may only look.</span>}
      </Menu>
      <CopyAs command={`job get ${id}`} get={path`/jobs/${id}`} go={`id, err := uuid.Parse("${id}")\nrecord, err := hf.Get(ctx, id)`} id={id} />
    </>
  );
}
