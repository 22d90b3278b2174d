// The jobs that a query selects, and what can be done with them.
import { useEffect, useRef, useState } from "preact/hooks";
import { change, useData } from "../api/data";
import type { AttributeList, Job, OperationStarted, PageKind, PageQueue } from "../api/schema";
import { go, href, param, set } from "../state/route";
import { chosen, views } from "../state/prefs";
import { may } from "../state/session";
import { Action, type Ask } from "../ui/action";
import { CopyAs, Empty, JobLink, Page, QueueLink, State, Time } from "../ui/basics";
import { count, duration, number, percent, sh } from "../ui/format";
import { ColumnMenu, pickColumns } from "../ui/columns";
import { Menu } from "../ui/menu";
import { List, type Column } from "../ui/table";
import { enqueue } from "./enqueue";
import { sums } from "./overview";
import { by, completions, conditions, meant, states, valueOf, withValue } from "./query";

/** The time of a job that matters in its state. */
export function Moment({ job: j }: { job: Job }) {
  switch (j.state) {
    case "running": return <>started <Time at={j.started_at ?? j.claimed_at} /></>;
    case "scheduled": case "retryable": return <>due <Time at={j.run_at} /></>;
    case "available": return <>due <Time at={j.run_at} /></>;
    case "waiting": return j.wait?.until ? <>times out <Time at={j.wait.until} /></> : <>for <Time at={j.wait?.since ?? j.created_at} lasts /></>;
    default: return <>ended <Time at={j.finished_at} /></>;
  }
}

/** The state in words, with what was asked of the job. */
export function stateText(j: Job): string | undefined {
  if (j.state === "running" && j.cancel_requested) return "running (stopping)";
  return j.pause_requested || j.wait?.held ? j.state + " (held)" : undefined;
}

export function tookOf(j: Job): string {
  if (!j.started_at || !j.finished_at) return "–";
  return duration(Date.parse(j.finished_at) - Date.parse(j.started_at));
}

export const columns: Column<Job>[] = [
  { name: "Kind", cell: (j) => <JobLink id={j.id}>{j.kind}</JobLink> },
  { name: "ID", wide: true, cell: (j) => <JobLink id={j.id} /> },
  { name: "State", cell: (j) => <State state={j.state} text={stateText(j)} /> },
  { name: "Queue", cell: (j) => <QueueLink name={j.queue} /> },
  { name: "Attempt", num: true, cell: (j) => `${j.attempt}${j.max_attempts ? "/" + j.max_attempts : ""}` },
  { name: "Time", cell: (j) => <span class="whole"><Moment job={j} /></span> },
  { name: "Ran", num: true, wide: true, cell: tookOf },
  { name: "Tags", wide: true, cell: (j) => j.tags?.map((t) => <span key={t} class="tag" title={t}>{t}</span>) },
  { name: "Error", wide: true, cell: (j) => j.error && j.state !== "completed" && <span class="clip rest" title={j.error ?? ""}>{j.error}</span> }, // of one that completed it is that of an earlier attempt
  { name: "Priority", num: true, off: true, cell: (j) => j.priority },
  { name: "Key", off: true, cell: (j) => j.key },
  { name: "Created", off: true, cell: (j) => <Time at={j.created_at} /> },
  { name: "Node", off: true, cell: (j) => j.node && <a href={href("/nodes/" + j.node)}>{j.node}</a> },
  { name: "Progress", off: true, num: true, cell: (j) => j.checkpoint && percent(j.checkpoint.percent) },
  { name: "Parent", off: true, cell: (j) => <JobLink id={j.parent} /> },
  { name: "Version", off: true, cell: (j) => j.version },
  { name: "Attributes", off: true, cell: (j) => attributes(j) },
];

/** The attributes of a job, each with the jobs that have the same. */
export function attributes(j: Job) {
  if (typeof j.attributes !== "object" || j.attributes === null || Object.keys(j.attributes).length === 0) return null;
  return Object.entries(j.attributes).map(([k, v]) => {
    const value = attributeText(v);
    return <a key={k} class="tag" title={`${k}: ${value}`} href={href("/jobs", { q: by("attr." + k, value) })}>{k}: {value}</a>;
  });
}

/** The value of an attribute as a query has it: the API tells its type, and has the value under that. */
export function attributeText(v: unknown): string {
  if (typeof v !== "object" || v === null) return String(v);
  const { type: _, ...of } = v as Record<string, unknown>;
  const value = Object.values(of)[0];
  return typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
}

/** The columns of lists of jobs on other pages. */
export const plainColumns = columns.filter((c) => !c.off);

/** The query of the place, with the state of its own, which the tabs set. */
const query = () => (param("state") ? withValue(param("q"), "state", param("state")) : param("q"));

/** How many rows a page has: as the URL says, within what the API takes. */
const sizeOf = (text: string) => Math.min(200, Math.max(1, Math.floor(Number(text)) || 50));

export function Jobs() {
  const q = query();
  const f = { q, sort: param("sort") };
  return (
    <Page title="Jobs" actions={
      <>
        {may("jobs:write") && <Action ask={enqueue()}>Enqueue a job</Action>}
<CopyAs command={"job list" + (q && sh` --query ${q}`) + (f.sort && sh` --sort ${f.sort}`)} get="/jobs" params={f} />
      </>
    }>
      <div class="tabs-and-more">
        <Tabs />
        <Views />
        <ColumnMenu list="jobs" all={columns} />
      </div>
      <Query />
      <List<Job> caption="Jobs" path="/jobs" params={f} columns={pickColumns(columns, chosen.value.jobs)} id={(j) => j.id} size={sizeOf(param("size"))}
        again={(ids) => ({ q: "id:" + ids.join(","), limit: ids.length })}
        select={may("jobs:write") ? (ids, clear) => <Bulk key={q} ids={ids} clear={clear} /> : undefined}
        empty={q ? (
          <Empty title="No job is as asked"><button onClick={() => set({ q: "", state: "", cursor: "" })}>Show all jobs</button></Empty>
        ) : (
          <Empty title="There are no jobs yet" command={`holdfast job enqueue exec '{"command":["echo","hello"]}'`}>Enqueue the first one:</Empty>
        )} />
    </Page>
  );
}

/** The states, with counts of those that are not over: what is over is not counted, however much that is. */
function Tabs() {
  const queues = useData<PageQueue>(may("queues:read") ? "/queues" : null, { limit: 200 });
  const state = param("state") || valueOf(param("q"), "state");
  const counts = sums(queues.value?.items ?? [], !queues.value?.next_cursor);
  const tab = (name: string) => {
    const c = counts[name];
    return (
      <a key={name} href={href("/jobs", { q: withValue(param("q"), "state", ""), state: name, sort: ["completed", "failed", "cancelled"].includes(name) ? "finished" : "" })} aria-current={state === name ? "page" : undefined}>
        {name || "all"} {c && c.jobs > 0 && <span class="num faint">{count(c)}</span>}
      </a>
    );
  };
  return <nav class="tabs" aria-label="States">{["", ...states].map(tab)}</nav>;
}

/** The views that were saved in this browser, and the one that is shown, to be saved. */
function Views() {
  const here = { q: param("q"), state: param("state"), sort: param("sort") };
  const save = {
    title: "Save this view", yes: "Save", text: "It is kept in this browser. To share it, send the address of the page.", fields: [{ name: "name", label: "Name", required: true }],
    run: async (v: Record<string, string>) => {
      const name = v.name?.trim() ?? "";
      views.value = [...views.value.filter((one) => one.name !== name), { name, ...here }].sort((a, b) => a.name.localeCompare(b.name));
      return `The view ${name} is saved`;
    },
  };
  return (
    <Menu name="Views">
      {views.value.map(({ name, ...of }) => (
        <span key={name} class="item">
          <button onClick={() => go(href("/jobs", of))}>{name}</button>
          <button class="quiet" aria-label={`Forget the view ${name}`} onClick={() => (views.value = views.value.filter((v) => v.name !== name))}>×</button>
        </span>
      ))}
      <Action ask={save}>Save this view…</Action>
    </Menu>
  );
}

function Query() {
  const q = param("q");
  const [text, setText] = useState(q);
  const input = useRef<HTMLInputElement>(null);
  const queues = useData<PageQueue>(may("queues:read") ? "/queues" : null, { limit: 200 }, "never");
  const kinds = useData<PageKind>(may("queues:read") ? "/kinds" : null, { limit: 200 }, "never");
  const attrs = useData<AttributeList>(may("jobs:read") ? "/attributes" : null, {}, "never");
  useEffect(() => setText(q), [q]);
  const known = { queue: queues.value?.items.map((i) => i.name) ?? [], kind: kinds.value?.items.map((i) => i.name) ?? [], "attr.": attrs.value?.items.map((i) => i.name) ?? [] };
  const search = (event: Event) => {
    event.preventDefault();
    const asked = meant(text, known);
    setText(asked);
    set({ q: asked, cursor: "", ...(valueOf(asked, "state") && { state: "" }) }); // what is written comes before the tab
  };
  const list = completions(text, known);
  return (
    <>
      <form class="query" role="search" onSubmit={search}>
        <input ref={input} id="query" type="search" value={text} list="query-words" placeholder="kind:mail queue:letters tag:urgent since:24h   ( / )" aria-label="Query"
          spellcheck={false} autocomplete="off" onInput={(e) => setText(e.currentTarget.value)} />
        <datalist id="query-words">{list.map((one) => <option key={one} value={one} />)}</datalist>
        <button type="submit">Search</button>
        <label>
          <span class="hidden">Order</span>
          <select value={param("sort")} onChange={(e) => set({ sort: e.currentTarget.value, cursor: "" })}>
            {[["", "newest first"], ["oldest", "oldest first"], ["run_at", "due first"], ["finished", "ended last"]].map(([v, n]) => <option key={v} value={v}>{n}</option>)}
          </select>
        </label>
      </form>
      {q && (
        <p class="conditions">
          {conditions(q).map((c) => (
            <button key={c} class="tag" title="Remove this condition" onClick={() => set({ q: conditions(q).filter((one) => one !== c).join(" "), cursor: "" })}>{c} ×</button>
          ))}
        </p>
      )}
    </>
  );
}

/** How many jobs are changed without being typed. */
const many = 100;

const verbs: { action: string; name: string; danger?: boolean }[] = [
  { action: "retry", name: "Retry" }, { action: "cancel", name: "Cancel", danger: true }, { action: "pause", name: "Pause" },
  { action: "resume", name: "Resume" }, { action: "move", name: "Move" }, { action: "delete", name: "Delete", danger: true },
];

/** What is done with selected jobs, or with all that the query selects: as an operation, which is counted first. */
function Bulk({ ids, clear }: { ids: string[]; clear: () => void }) {
  const q = query();
  const start = async (verb: (typeof verbs)[number], all: boolean): Promise<Ask> => {
    const what = all ? { filter: { q }, all: !q } : { ids };
    const found = all ? (await change<OperationStarted>("POST", "/operations", { action: verb.action, ...what, ...(verb.action === "move" ? { queue: "default" } : {}), dry_run: true })).found : null;
    const n = found?.count ?? ids.length;
    const total = number(n) + (found?.more ? "+" : "");
    return {
      title: `${verb.name} ${total} ${n === 1 ? "job" : "jobs"}`,
      text: all ? "These are all that the query selects. Jobs that cannot be changed so are left as they are." : "These are the selected jobs.",
      yes: verb.name, danger: verb.danger, typed: n > many ? String(n) : undefined,
      fields: [
        ...(verb.action === "move" ? [{ name: "queue", label: "To the queue", required: true }] : []),
        { name: "reason", label: "Reason, which is recorded" },
      ],
      run: async (v, { once }) => {
        const done = await change<OperationStarted>("POST", "/operations", { action: verb.action, ...what, reason: v.reason || undefined, queue: v.queue || undefined }, { once });
        clear();
        if (done.operation) go(href("/operations/" + done.operation.id));
        return `The operation has begun: ${verb.name.toLowerCase()} ${total} jobs`;
      },
    };
  };
  const [all, setAll] = useState(false);
  useEffect(() => { if (ids.length > 0) setAll(false); }, [ids.length]);
  if (!may("operations:write")) return null;
  return (
    <div class="bulk" role="toolbar" aria-label="Change many jobs">
      <span aria-live="polite">{ids.length > 0 ? `${ids.length} selected; updates are paused` : ""}</span>
      <label class="check"><input type="checkbox" checked={all && ids.length === 0} disabled={ids.length > 0} onChange={(e) => setAll(e.currentTarget.checked)} /> All that the query selects</label>
      {verbs.map((v) => (
        <Action key={v.action} danger={v.danger} disabled={ids.length === 0 && !all} prepare={() => start(v, ids.length === 0)}>{v.name}</Action>
      ))}
      {ids.length > 0 && <button class="quiet" onClick={clear}>Clear</button>}
    </div>
  );
}
