// The queues, and one of them with what is set and what holds.
import { change, useData } from "../api/data";
import { path } from "../api/http";
import type { Job, KindAttempts, LimitSet, NodePage, PageJob, Queue, WholeQueue } from "../api/schema";
import { now } from "../state/clock";
import { go, href } from "../state/route";
import { may, namespace } from "../state/session";
import { Action, type Ask } from "../ui/action";
import { Card, CopyAs, Empty, Facts, isOwn, Meter, OutLink, Page, QueueLink, State, Time, Waits } from "../ui/basics";
import { count, duration, sh } from "../ui/format";
import { Menu } from "../ui/menu";
import { List, Table } from "../ui/table";
import { plainColumns } from "./jobs";
import { lag } from "./overview";
import { by } from "./query";
import { Charts, EndedSpark, Spans, useEnded, type Ended } from "./stats";

export function QueueState({ queue: q }: { queue: Pick<Queue, "paused" | "rest_until"> }) {
  if (q.paused) return <State state="paused" />;
  if (q.rest_until && Date.parse(q.rest_until) > now.value) return <State state="waiting" text={"rests " + duration(Date.parse(q.rest_until) - now.value)} />;
  return <State state="ok" text="open" />;
}

const toggle = (q: { name: string; paused: boolean }) => async () => {
  await change("POST", path`/queues/${q.name}/${q.paused ? "resume" : "pause"}`);
  return q.paused ? `Queue ${q.name} goes on` : `Queue ${q.name} is paused: no job of it starts`;
};

/** Which share of what has ended has failed. */
const share = (e: Ended | undefined) => (e && e.total > 0 ? (e.failed === 0 ? "0%" : Math.max(0.1, Math.round((e.failed / e.total) * 1000) / 10) + "%") : "–");

/** Pauses or resumes the queues that were selected, one after the other. */
function Bulk({ ids, clear }: { ids: string[]; clear: () => void }) {
  if (ids.length === 0) return null;
  const all = (verb: "pause" | "resume", done: string) => async () => {
    const params = { namespace: namespace.peek() }; // also if another one is gone to meanwhile
    for (const name of ids) await change("POST", path`/queues/${name}/${verb}`, {}, { params });
    clear();
    return `${ids.length === 1 ? "One queue" : ids.length + " queues"} ${done}`;
  };
  return (
    <div class="bulk" role="toolbar" aria-label="Change many queues">
      <span aria-live="polite">{ids.length} selected; updates are paused</span>
      <Action run={all("pause", "paused")}>Pause</Action>
      <Action run={all("resume", "resumed")}>Resume</Action>
      <button class="quiet" onClick={clear}>Clear</button>
    </div>
  );
}

export function Queues() {
  const ended = useEnded();
  return (
    <Page title="Queues" actions={<CopyAs command="queue list" get="/queues" go="queues, err := hf.Queues(ctx)" />}>
      <List<Queue> caption="Queues" path="/queues" id={(q) => q.name} select={may("queues:write") ? (ids, clear) => <Bulk ids={ids} clear={clear} /> : undefined}
        empty={<Empty title="No queue has had a job yet" command={`holdfast job enqueue exec '{"command":["echo","hello"]}'`}>A queue is there with its first job:</Empty>}
        columns={[
          { name: "Queue", cell: (q) => <><QueueLink name={q.name} /> {isOwn(q.name) && <span class="tag">Holdfast’s own</span>}</> },
          { name: "State", cell: (q) => <QueueState queue={q} /> },
          { name: "Due", num: true, cell: (q) => <a href={href("/jobs", { state: "available", q: by("queue", q.name) })}>{count(q.counts.available)}</a> },
          { name: "Running", num: true, cell: (q) => count(q.counts.running) },
          { name: "Scheduled", num: true, wide: true, cell: (q) => count(q.counts.scheduled) },
          { name: "Retryable", num: true, wide: true, cell: (q) => count(q.counts.retryable) },
          { name: "Waiting", num: true, wide: true, cell: (q) => count(q.counts.waiting) },
          { name: "Oldest due", num: true, cell: (q) => (lag(q, now.value) > 0 ? duration(lag(q, now.value)) : "–") },
          { name: "Last hour", wide: true, cell: (q) => <EndedSpark of={ended.get(q.name)} /> },
          { name: "Failed", num: true, wide: true, cell: (q) => share(ended.get(q.name)) },
          { name: "", cell: (q) => may("queues:write") && <Action quiet run={toggle(q)}>{q.paused ? "Resume" : "Pause"}</Action> },
        ]} />
    </Page>
  );
}

export function QueuePage({ name }: { name: string }) {
  const data = useData<WholeQueue>(path`/queues/${name}`);
  const nodes = useData<NodePage>(may("nodes:read") ? "/nodes" : null, { alive: true, limit: 200 }, "slow");
  const q = data.value;
  if (!q) return <Waits page of={data} rows={8} />;
  const running = q.counts.running?.jobs ?? 0;
  const cap = q.limit?.capacity ?? (nodes.value?.items.filter((n) => n.alive && (n.queues === null || n.queues?.includes(name))).reduce((sum, n) => sum + n.slots, 0) || 0);
  return (
    <Page title={<>{q.name} <QueueState queue={q} /></>} crumbs={<a href={href("/queues")}>Queues</a>} actions={<><Spans /><QueueActions queue={q} etag={data.etag} /></>}>
      {q.descriptor?.description && <p>{q.descriptor.description} {q.descriptor.owner && <span class="faint">· {q.descriptor.owner}</span>} {q.descriptor.link && <OutLink to={q.descriptor.link}>more</OutLink>}</p>}
      {q.unserved && q.unserved.length > 0 && (
        <div class="note" role="alert">{q.unserved.map((u) => <p key={u.kind + u.version}>No node runs jobs of kind <b>{u.kind}</b>{u.version && ` at version ${u.version}`}: the oldest has been due for <Time at={u.oldest_due} lasts />.</p>)}</div>
      )}
      <ul class="tiles">
        {["available", "running", "scheduled", "retryable", "waiting"].map((s) => (
          <li key={s}><a href={href("/jobs", { state: s, q: by("queue", q.name) })}><span>{s === "available" ? "due now" : s}</span><b class="num">{count(q.counts[s])}</b></a></li>
        ))}
        <li><a href={href("/dead")}><span>oldest due</span><b class="num">{lag(q, now.value) > 0 ? duration(lag(q, now.value)) : "–"}</b></a></li>
      </ul>
      {may("stats:read") && <Charts queue={q.name} />}
      <div class="columns">
        <Card title="Settings"><Settings queue={q} running={running} cap={cap} /></Card>
        <Card title="Nodes" flush>
          {q.nodes && q.nodes.length > 0 ? (
            <Table caption="Nodes" rows={q.nodes} id={(n) => n.id ?? n.name} columns={[
              { name: "Node", cell: (n) => <a href={href("/nodes/" + n.id)}>{n.name}</a> },
              { name: "Slots", num: true, cell: (n) => n.slots },
              { name: "Kinds", cell: (n) => (n.kinds ?? []).join(", ") },
            ]} />
          ) : <Empty title="No node serves this queue" command={sh`holdfast worker --queue ${q.name}`} />}
        </Card>
      </div>
      {q.kinds && q.kinds.length > 0 && <Card title="What holds for each kind" flush><Effective kinds={q.kinds} /></Card>}
      <Recent queue={q.name} />
    </Page>
  );
}

function Settings({ queue: q, running, cap }: { queue: WholeQueue; running: number; cap: number }) {
  const a = q.attempts;
  return (
    <>
      {cap > 0 && <Meter value={running} of={cap} label={`${running} of ${cap} slots in use`} />}
      <Facts of={[
        ["Jobs at once", q.limit?.capacity != null ? String(q.limit.capacity) : "any number"],
        ["Rate", q.limit?.rate ?? "any"],
        ["Attempts at most", a.max_attempts !== null ? String(a.max_attempts) : "as kinds and jobs say"],
        ["Backoff", a.backoff ? `${a.backoff.base} to ${a.backoff.cap}` : "as kinds and jobs say"],
        ["Timeout", a.timeout ?? "as kinds and jobs say"],
        ["Heartbeat timeout", a.heartbeat_timeout], ["Retention class", a.retention],
        ["Set by", a.set_by && <>{a.set_by} <Time at={a.set_at} /></>],
        ["Paused by", q.paused && <>{q.paused_by ?? "unknown"} <Time at={q.paused_at} /></>],
        ["Rest level", q.rest_level > 0 && String(q.rest_level)],
      ]} />
    </>
  );
}

/** What holds for a kind, and who has said it: the job's own options come before all. */
function Effective({ kinds }: { kinds: KindAttempts[] }) {
  const of = (effective: unknown, declared: unknown, said: string) => (
    <>{effective === null ? "none" : String(effective)} <span class="faint">{said}{declared !== null && declared !== effective && `; code says ${String(declared)}`}</span></>
  );
  return (
    <Table caption="What holds for each kind" rows={kinds} id={(k) => k.kind} columns={[
      { name: "Kind", cell: (k) => k.kind },
      { name: "Attempts", cell: (k) => of(k.max_attempts.effective, k.max_attempts.declared, k.max_attempts.said_by) },
      { name: "Backoff", cell: (k) => of(`${k.backoff.effective.base} to ${k.backoff.effective.cap}`, k.backoff.declared && `${k.backoff.declared.base} to ${k.backoff.declared.cap}`, k.backoff.said_by) },
      { name: "Timeout", cell: (k) => of(k.timeout.effective, k.timeout.declared, k.timeout.said_by) },
    ]} />
  );
}

function Recent({ queue }: { queue: string }) {
  const jobs = useData<PageJob>(may("jobs:read") ? "/jobs" : null, { queue, limit: 20 });
  if (!may("jobs:read")) return null;
  return (
    <Card title="Newest jobs" flush extra={<a href={href("/jobs", { q: by("queue", queue) })}>All</a>}>
      {jobs.value ? <Table<Job> caption="Newest jobs" rows={jobs.value.items} id={(j) => j.id} columns={plainColumns.filter((c) => c.name !== "Queue")} /> : <Waits of={jobs} />}
    </Card>
  );
}

function QueueActions({ queue: q, etag }: { queue: WholeQueue; etag: string }) {
  const a = q.attempts;
  const settings: Ask = {
    title: `Settings of ${q.name}`, yes: "Save", text: "They hold for jobs that say nothing themselves. Empty: as kinds and defaults say.",
    fields: [
      { name: "max_attempts", label: "Attempts at most", type: "number", value: a.max_attempts !== null ? String(a.max_attempts) : "" },
      { name: "base", label: "Backoff: first", value: a.backoff?.base ?? "", hint: "such as 5s" }, { name: "cap", label: "Backoff: at most", value: a.backoff?.cap ?? "", hint: "such as 1h" },
      { name: "timeout", label: "Timeout", value: a.timeout ?? "" }, { name: "heartbeat_timeout", label: "Heartbeat timeout", value: a.heartbeat_timeout ?? "" },
      { name: "retention", label: "Retention class", value: a.retention ?? "" },
    ],
    run: async (v) => {
      await change("PATCH", path`/queues/${q.name}`, {
        max_attempts: v.max_attempts ? Number(v.max_attempts) : null, backoff: v.base || v.cap ? { base: v.base, cap: v.cap } : null,
        timeout: v.timeout || null, heartbeat_timeout: v.heartbeat_timeout || null, retention: v.retention || null,
      }, { etag });
      return "The settings are saved";
    },
  };
  const limit: Ask = {
    title: `Limit of ${q.name}`, yes: "Save", text: "It holds over all nodes together.",
    fields: [
      { name: "capacity", label: "Jobs at once", type: "number", value: q.limit?.capacity != null ? String(q.limit.capacity) : "", hint: "any number, if it is empty; 0 stops the queue" },
      { name: "rate", label: "Rate", value: q.limit?.rate ?? "", hint: "such as 50/s or 100/min; any, if it is empty" },
      { name: "burst", label: "Burst", type: "number", value: q.limit?.burst != null ? String(q.limit.burst) : "" },
      { name: "fair", label: "Nodes share the slots evenly", type: "checkbox", value: String(q.limit?.fair_share ?? false) },
    ],
    run: async (v) => {
      const name = "queue:" + q.name;
      if (!v.capacity && !v.rate) {
        if (!q.limit) return "The queue has no limit";
        return {
          title: `Delete the limit of ${q.name}`, yes: "Delete", danger: true, text: "Without jobs at once and without a rate it bounds nothing.",
          run: async () => { await change("DELETE", path`/limits/${name}`); return "The queue has no limit"; },
        };
      }
      const body: LimitSet = {
        queues: [q.name], fair_share: v.fair === "true", kinds: q.limit?.kinds && Object.keys(q.limit.kinds).length > 0 ? q.limit.kinds : undefined, per_key: q.limit?.per_key, no_jobs: q.limit?.no_jobs,
        capacity: v.capacity ? Number(v.capacity) : undefined, rate: v.rate || undefined, burst: v.burst ? Number(v.burst) : undefined,
      };
      await change("PUT", path`/limits/${name}`, body, { etag: q.limit ? "*" : undefined });
      return "The limit is set";
    },
  };
  const drain: Ask = {
    title: `Cancel what is in ${q.name}`, yes: "Cancel them", danger: true, typed: q.name, text: "All jobs of the queue that are not over are cancelled.",
    fields: [{ name: "reason", label: "Reason, which is recorded" }],
    run: async (v) => {
      const done = await change<{ operation: string | null }>("POST", path`/queues/${q.name}/drain`, { reason: v.reason || undefined });
      if (done.operation) go(href("/operations/" + done.operation));
      return "The operation has begun";
    },
  };
  const remove: Ask = {
    title: `Delete the queue ${q.name}`, yes: "Delete", danger: true, text: "It is deleted if it is empty.",
    run: async () => {
      await change("DELETE", path`/queues/${q.name}`);
      go(href("/queues"));
      return "The queue is deleted";
    },
  };
  const rest: Ask = {
    title: `Let ${q.name} rest`, yes: "Rest", fields: [{ name: "for", label: "For", required: true, value: "30s" }],
    run: async (v) => {
      await change("POST", path`/queues/${q.name}/rest`, { for: v.for });
      return "The queue rests";
    },
  };
  return (
    <>
      {may("queues:write") && <Action run={toggle(q)}>{q.paused ? "Resume" : "Pause"}</Action>}
      {may("queues:write") && <Action ask={settings}>Settings…</Action>}
      {may("limits:write") && <Action ask={limit}>Limit…</Action>}
      {may("queues:write") && (
        <Menu name="More">
          <Action ask={rest}>Rest…</Action>
          {may("operations:write") && <Action danger ask={drain}>Cancel all jobs…</Action>}
          <Action danger ask={remove}>Delete…</Action>
        </Menu>
      )}
      <CopyAs command={sh`queue get ${q.name}`} get={path`/queues/${q.name}`} />
    </>
  );
}
