// The page that is kept open: whether all is well, and what needs a person.
import { useData } from "../api/data";
import type { DeadGroups, NodePage, PageJob, PageKind, PageQueue, PageSchedule, Queue, Unserved } from "../api/schema";
import { ahead, now } from "../state/clock";
import { href } from "../state/route";
import { caller, may } from "../state/session";
import { Card, Command, Empty, isOwn, JobLink, Page, QueueLink, State, Time, Waits } from "../ui/basics";
import { count, duration, number } from "../ui/format";
import { Table } from "../ui/table";
import { Charts, Spans } from "./stats";

/** Sums of the counts of queues, in the states that are not final. */
export function sums(queues: Queue[], isAll = true): Record<string, { jobs: number; exact: boolean }> {
  const all: Record<string, { jobs: number; exact: boolean }> = {};
  for (const q of queues) {
    for (const [state, c] of Object.entries(q.counts)) {
      const sum = (all[state] ??= { jobs: 0, exact: isAll });
      sum.jobs += c.jobs;
      sum.exact &&= c.exact;
    }
  }
  return all;
}

/** How many milliseconds the oldest due job of a queue waits. */
export const lag = (q: Queue, at: number) => (q.oldest_due ? Math.max(0, at - Date.parse(q.oldest_due)) : 0);

const hour = 3_600_000;

export interface Attention {
  text: string;
  to: string;
}

/** What the overview knows. What is null may not be seen by who looks, or is not known yet. */
export interface Known {
  queues: Queue[];
  nodes: NodePage["items"] | null;
  /** Whether a node leads: one for the database, which may be of another namespace. */
  led: boolean | null;
  /** Nodes that died. */
  died: NodePage["items"];
  /** There are more than those, of the last day: the newest may be missing. */
  diedMore: boolean;
  /** Jobs that are due, and which no node runs. */
  unserved: Unserved[];
  schedules: PageSchedule["items"];
  dead: DeadGroups["items"];
  at: number;
}

/** How many queues are told of one by one whose jobs no node runs. */
const mostQueues = 5;

/** What no node runs, by queue, the one that waits longest first; a deployment may leave a minute. */
function unserved(jobs: Unserved[], at: number): Attention[] {
  const queues = new Map<string, Set<string>>();
  const late = jobs.filter((u) => at - Date.parse(u.oldest_due ?? "") > 60_000);
  for (const u of late.sort((a, b) => Date.parse(a.oldest_due ?? "") - Date.parse(b.oldest_due ?? ""))) {
    queues.set(u.queue, (queues.get(u.queue) ?? new Set()).add(u.kind));
  }
  const all = [...queues].map(([queue, kinds]) => ({
    text: `No node runs jobs of ${[...kinds].join(", ")}, and queue ${queue} has due ones`, to: "/queues/" + encodeURIComponent(queue),
  }));
  if (all.length <= mostQueues) return all;
  return [...all.slice(0, mostQueues - 1), { text: `${all.length - mostQueues + 1} more queues have due jobs that no node runs`, to: "/queues" }];
}

/** What needs a person, the worst first. */
export function attention(o: Known): Attention[] {
  const all: Attention[] = [];
  const alive = o.nodes?.filter((n) => n.alive) ?? [];
  const waiting = o.queues.filter((q) => (q.counts.available?.jobs ?? 0) > 0);
  if (o.nodes && waiting.length > 0 && !alive.some((n) => n.slots > 0 && n.mode === "running")) all.push({ text: "Jobs are due, and no node runs any", to: "/nodes" });
  if (alive.length > 0 && o.led === false) all.push({ text: "No node leads: nothing is rescued, scheduled or removed", to: "/nodes" });
  for (const n of alive) {
    if (n.silent) all.push({ text: `Node ${n.name} has been silent for ${duration(o.at - Date.parse(n.beat_at ?? ""))}`, to: "/nodes/" + n.id });
    for (const part of n.unwell ?? []) all.push({ text: `Node ${n.name} is unwell: ${part}`, to: "/nodes/" + n.id });
  }
  const died = o.died.filter((n) => n.ended_at && o.at - Date.parse(n.ended_at) < hour);
  if (died.length > 3 || o.diedMore) all.push({ text: o.diedMore ? "More than 200 nodes died in the last day" : `${died.length} nodes died in the last hour`, to: "/nodes" });
  else for (const n of died) all.push({ text: `Node ${n.name} died ${duration(o.at - Date.parse(n.ended_at ?? ""))} ago; what it ran is run by others`, to: "/nodes/" + n.id });
  if (o.nodes) all.push(...unserved(o.unserved, o.at));
  for (const q of waiting) {
    const to = "/queues/" + encodeURIComponent(q.name);
    if (q.paused) all.push({ text: `Queue ${q.name} is paused, and has ${count(q.counts.available)} due ${q.counts.available?.jobs === 1 ? "job" : "jobs"}`, to });
    else if (lag(q, o.at) > 60_000) all.push({ text: `The oldest due job of queue ${q.name} has waited for ${duration(lag(q, o.at))}`, to });
  }
  for (const s of o.schedules) {
    if (!s.paused && s.next && o.at - Date.parse(s.next) > 60_000) all.push({ text: `Schedule ${s.name} should have fired`, to: "/schedules/" + encodeURIComponent(s.name) });
  }
  const recent = o.dead.filter((g) => g.last_seen && o.at - Date.parse(g.last_seen) < hour);
  if (recent.length > 0) all.push({ text: `${recent.length === 1 ? "One kind of failure" : recent.length + " kinds of failures"} in the last hour`, to: "/dead" });
  return all;
}

const unknown = "It is not known whether all is well";

const cards: [string, string][] = [
  ["running", "Running"], ["available", "Due now"], ["scheduled", "Scheduled"], ["retryable", "To be retried"], ["waiting", "Waiting"],
];

export function Overview() {
  const queues = useData<PageQueue>(may("queues:read") ? "/queues" : null, { limit: 200 });
  const nodes = useData<NodePage>(may("nodes:read") ? "/nodes" : null, { limit: 200, alive: true }, "slow");
  const died = useData<NodePage>(may("nodes:read") ? "/nodes" : null, { limit: 200, dead: true }, "slow");
  const schedules = useData<PageSchedule>(may("schedules:read") ? "/schedules" : null, { limit: 200 }, "slow");
  const dead = useData<DeadGroups>(may("dead:read") ? "/dead" : null, { limit: 20 }, "slow");
  const failures = useData<PageJob>(may("jobs:read") ? "/jobs" : null, { state: "failed", sort: "finished", limit: 8 });
  const all = queues.value?.items ?? [];
  const late = all.some((q) => !q.paused && lag(q, now.value) > 60_000);
  const kinds = useData<PageKind>(late && may("queues:read") ? "/kinds" : null, { limit: 200 }, "slow").value;
  const of = sums(all.filter((q) => !isOwn(q.name)), !queues.value?.next_cursor);
  const own = sums(all.filter((q) => isOwn(q.name)));
  const alive = nodes.value?.items.filter((n) => n.alive) ?? [];
  const asked = [may("queues:read") && queues, may("nodes:read") && nodes, may("nodes:read") && died, may("schedules:read") && schedules, may("dead:read") && dead].filter((d) => d !== false);
  const error = asked.find((d) => d.error)?.error;
  const known = !error && asked.every((d) => d.value);
  const isCut = [queues.value, nodes.value, schedules.value, kinds].some((page) => page?.next_cursor);
  const needs = queues.value || !may("queues:read") ? attention({
    queues: all, nodes: may("nodes:read") ? (nodes.value?.items ?? null) : null, led: nodes.value?.led ?? null, died: died.value?.items ?? [], diedMore: !!died.value?.next_cursor,
    unserved: late ? (kinds?.items ?? []).flatMap((k) => k.unserved ?? []) : [],
    schedules: schedules.value?.items ?? [], dead: dead.value?.items ?? [], at: now.value,
  }) : [];
  const top = [...all].sort((a, b) => (b.counts.available?.jobs ?? 0) - (a.counts.available?.jobs ?? 0) || a.name.localeCompare(b.name)).slice(0, 10);
  const oldest = Math.max(0, ...all.map((q) => lag(q, now.value)));
  return (
    <Page title="Overview" actions={<Spans />}>
      <ul class="tiles">
        {cards.map(([state, name]) => (
          <li key={state}>
            <a href={href("/jobs", { state })}>
              <span>{name}</span>
              <b class="num">{queues.value ? count(of[state]) : may("queues:read") ? "…" : "–"}{!!own[state]?.jobs && <span class="faint" title="Jobs of its own, such as deliveries to webhooks"> + {count(own[state])} of Holdfast</span>}</b>
            </a>
          </li>
        ))}
        <li>
          <a href={href("/dead")}>
            <span>Kinds of failures</span>
            <b class="num">{dead.value ? number(dead.value.items.length) + (dead.value.more ? "+" : "") : may("dead:read") ? "…" : "–"}</b>
          </a>
        </li>
        <li>
          <a href={href("/nodes")}>
            <span>Nodes</span>
            <b class="num">{nodes.value ? number(alive.length) + (nodes.value.next_cursor ? "+" : "") : may("nodes:read") ? "…" : "–"}</b>
          </a>
        </li>
      </ul>
      <section class={"card needs " + (needs.length > 0 ? "attention" : known ? "well" : "") + (needs.length > 3 ? " many" : "")} tabIndex={0} aria-label="Needs attention">
        {needs.length > 0 ? (
          <>
            <h2>Needs attention</h2>
            <ul>{needs.slice(0, 12).map((a) => <li key={a.text}><a href={href(a.to)}>{a.text}</a></li>)}</ul>
            {error && <p>{unknown}: {error.message}</p>}
          </>
        ) : (
          <p>
            {known ? <State state="ok" text={!may("queues:read") || !may("nodes:read") ? "Nothing needs you, as far as you may see" : isCut ? "Nothing needs you among the first 200 queues, nodes and schedules" : "Nothing needs you"} /> : <State state="" text={error ? unknown : "Looking…"} />}{" "}
            <span class="faint">
              {caller.value?.store} {nodes.value && <>· leader {alive.find((n) => n.leader)?.name ?? (nodes.value.led ? "of another namespace" : "none")}</>} · oldest due job {oldest > 0 ? duration(oldest) : "none"}
            </span>
          </p>
        )}
      </section>
      {Math.abs(ahead.value) > 5000 && (
        <p class="faint pad">The clock of this browser is {duration(Math.abs(ahead.value))} {ahead.value > 0 ? "behind" : "ahead of"} that of the server. Times are shown by the server's.</p>
      )}
      {may("stats:read") && <Charts />}
      <div class="columns">
        {may("queues:read") && <Card title="Queues" flush extra={<a href={href("/queues")}>All queues</a>}>
          {!queues.value ? <Waits of={queues} /> : top.length === 0 ? (
            <Empty title="No queue has had a job yet" command={`holdfast job enqueue exec '{"command":["echo","hello"]}'`} />
          ) : (
            <Table caption="Queues" rows={top} id={(q) => q.name} columns={[
              { name: "Queue", cell: (q) => <><QueueLink name={q.name} /> {isOwn(q.name) && <span class="tag">Holdfast’s own</span>}</> },
              { name: "Due", num: true, cell: (q) => count(q.counts.available) },
              { name: "Running", num: true, cell: (q) => count(q.counts.running) },
              { name: "Oldest", num: true, cell: (q) => (lag(q, now.value) ? duration(lag(q, now.value)) : "–") },
              { name: "", cell: (q) => (q.paused ? <State state="paused" /> : null) },
            ]} />
          )}
        </Card>}
        {may("jobs:read") && <Card title="Recent failures" flush extra={<a href={href("/jobs", { state: "failed", sort: "finished" })}>All</a>}>
          {!failures.value ? <Waits of={failures} /> : failures.value.items.length === 0 ? <Empty title="No job has failed" /> : (
            <Table caption="Recent failures" rows={failures.value.items} id={(j) => j.id} columns={[
              { name: "When", cell: (j) => <Time at={j.finished_at} /> },
              { name: "Job", cell: (j) => <JobLink id={j.id}>{j.kind}</JobLink> },
              { name: "Error", cell: (j) => <span class="clip rest long" title={j.error ?? ""}>{j.error}</span> },
            ]} />
          )}
        </Card>}
      </div>
      {alive.length === 0 && nodes.value && (
        <Card title="No node is here"><p>Jobs run on nodes: your own program, or this command for the kinds that are built in.</p><Command text="holdfast worker" /></Card>
      )}
    </Page>
  );
}
