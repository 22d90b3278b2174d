// The limits: who holds their slots, and who waits.
import { change, useData } from "../api/data";
import { path } from "../api/http";
import type { Job, Limit, PageJob } from "../api/schema";
import { go, href } from "../state/route";
import { may } from "../state/session";
import { Action, type Ask } from "../ui/action";
import { Card, CopyAs, Empty, Facts, Meter, Page, State, Time, Waits } from "../ui/basics";
import { sh } from "../ui/format";
import { List, Table } from "../ui/table";
import { plainColumns } from "./jobs";
import { quoted } from "./query";

const bound = (l: Limit) => [l.capacity !== null && `${l.capacity} at once`, l.rate, l.per_key && "for each key"].filter(Boolean).join(", ");

const used = (l: Limit) => (l.capacity !== null && !l.per_key ? <Meter value={l.held ?? 0} of={l.capacity} label={`${l.held ?? 0} of ${l.capacity}`} /> : "–");

/** The dialog for a new limit, or for one that is there. */
function form(l?: Limit, etag?: string): Ask {
  return {
    title: l ? `Change ${l.name}` : "New limit", yes: "Save",
    fields: [
      ...(l ? [] : [{ name: "name", label: "Name", required: true }]),
      { name: "capacity", label: "Jobs at once", type: "number", value: l?.capacity != null ? String(l.capacity) : "", hint: "any number, if it is empty; 0 stops" },
      { name: "rate", label: "Rate", value: l?.rate ?? "", hint: "such as 50/s or 100/min" },
      { name: "burst", label: "Burst", type: "number", value: l?.burst != null ? String(l.burst) : "" },
      { name: "queues", label: "Queues", value: l?.queues?.join(", ") ?? "", hint: "all, if it is empty" },
      { name: "kinds", label: "Kinds", value: l ? Object.entries(l.kinds ?? {}).map(([k, w]) => (w === 1 ? k : `${k}=${w}`)).join(", ") : "", hint: "all, if it is empty; train=4 takes four slots" },
      { name: "per_key", label: "For each key by itself", type: "checkbox", value: String(l?.per_key ?? false) },
      { name: "fair", label: "Nodes share the slots evenly", type: "checkbox", value: String(l?.fair_share ?? false) },
    ],
    run: async (v) => {
      const list = (text = "") => text.split(",").map((t) => t.trim()).filter(Boolean);
      const kinds = Object.fromEntries(list(v.kinds).map((k) => { const [name, weight] = k.split("="); return [name, Number(weight ?? 1)]; }));
      const name = l?.name ?? v.name ?? "";
      await change("PUT", path`/limits/${name}`, {
        capacity: v.capacity ? Number(v.capacity) : undefined, rate: v.rate || undefined, burst: v.burst ? Number(v.burst) : undefined,
        queues: v.queues ? list(v.queues) : undefined, kinds: v.kinds ? kinds : undefined, per_key: v.per_key === "true", fair_share: v.fair === "true", no_jobs: l?.no_jobs,
      }, { etag });
      return `Limit ${name} is set`;
    },
  };
}

export function Limits() {
  return (
    <Page title="Limits" actions={<>{may("limits:write") && <Action ask={form()}>New limit…</Action>}<CopyAs command="limit list" get="/limits" go="limits, err := limit.List(ctx, hf)" /></>}>
      <List<Limit> caption="Limits" path="/limits" refresh="slow" id={(l) => l.name}
        empty={<Empty title="There are no limits" command="holdfast limit set slack --capacity 5 --kind notify">One bounds what runs at once, or starts in a time, over all nodes:</Empty>}
        columns={[
          { name: "Limit", cell: (l) => <a href={href("/limits/" + encodeURIComponent(l.name))}>{l.name}</a> },
          { name: "Lets", cell: bound },
          { name: "Held by nodes", cell: used },
          { name: "Last asked for in vain", cell: (l) => (l.wanted_at ? <Time at={l.wanted_at} /> : "–") },
          { name: "Of", wide: true, cell: (l) => [l.queues?.join(", "), Object.keys(l.kinds ?? {}).join(", ")].filter(Boolean).join("; ") || "all jobs" },
          { name: "", cell: (l) => <>{l.drained_until && <State state="waiting" text="drained" />}{l.drift && <span class="tag">differs from code</span>}</> },
        ]} />
    </Page>
  );
}

function Changes({ limit: l, etag }: { limit: Limit; etag: string }) {
  const { name } = l;
  const drain: Ask = {
    title: `Drain ${l.name}`, yes: "Drain", text: "Nothing starts under it for a while, as after an answer of 429.", fields: [{ name: "for", label: "For", required: true, value: "30s" }],
    run: async (v) => { await change("POST", path`/limits/${name}/drain`, { for: v.for }); return "It is drained"; },
  };
  const remove: Ask = {
    title: `Delete ${l.name}`, yes: "Delete", danger: true, text: "It is refused while jobs run under it, unless it is forced.", fields: [{ name: "force", label: "Also while jobs run under it", type: "checkbox" }],
    run: async (v) => { await change("DELETE", path`/limits/${name}`, undefined, { params: { force: v.force === "true" ? true : undefined } }); go(href("/limits")); return "It is deleted"; },
  };
  return (
    <>
      <Action ask={form(l, etag)}>Change…</Action>
      {l.drained_until ? <Action run={async () => { await change("POST", path`/limits/${name}/resume`); return "It goes on"; }}>Resume</Action> : <Action ask={drain}>Drain…</Action>}
      {l.drift && <Action run={async () => { await change("POST", path`/limits/${name}/reset`); return "It is as code declares"; }}>Reset to code</Action>}
      <Action danger ask={remove}>Delete…</Action>
    </>
  );
}

export function LimitPage({ name }: { name: string }) {
  const data = useData<Limit>(path`/limits/${name}`, {}, "live");
  const l = data.value;
  if (!l) return <Waits page of={data} rows={6} />;
  const holders = (l.holders ?? []).map((h) => ({ ...h, wants: l.wishes?.find((w) => w.node === h.node)?.slots ?? 0 }));
  return (
    <Page title={l.name} crumbs={<a href={href("/limits")}>Limits</a>} actions={
      <>
        {may("limits:write") && <Changes limit={l} etag={data.etag} />}
        <CopyAs command={sh`limit get ${name}`} get={path`/limits/${name}`} go={`l, err := limit.Get(ctx, hf, ${JSON.stringify(name)})`} />
      </>
    }>
      {l.drained_until && <div class="note">Drained until <Time at={l.drained_until} precise /></div>}
      <div class="columns">
        <Card title="Facts">
          {used(l)}
          <Facts of={[
            ["Lets", bound(l)], ["Burst", l.burst !== null && String(l.burst)], ["Queues", l.queues?.join(", ") || "all"], ["Kinds", Object.entries(l.kinds ?? {}).map(([k, w]) => `${k} takes ${w}`).join(", ") || "all, one slot each"],
            ["Fair share", l.fair_share && "yes"], ["Counts no jobs, but what code acquires", l.no_jobs && "yes"], ["Declared in code", l.declared ? "yes" : "no"],
            ["The next may start", l.next_at && <Time at={l.next_at} />], ["Last in vain", l.wanted_at && <Time at={l.wanted_at} />], ["Changed", <Time key="u" at={l.updated_at} />],
          ]} />
        </Card>
        <Card title="Who holds it" flush>
          {holders.length === 0 ? <p class="pad faint">{l.per_key ? "Each key is counted by itself: ask why a job does not run." : "No node holds a slot."}</p> : (
            <Table caption="Who holds it" rows={holders} id={(h) => h.node ?? ""} columns={[
              { name: "Node", cell: (h) => <a href={href("/nodes/" + h.node)}>{h.node}</a> }, { name: "Slots", num: true, cell: (h) => h.slots }, { name: "Wants", num: true, cell: (h) => h.wants || "–" },
            ]} />
          )}
        </Card>
      </div>
      {may("jobs:read") && !l.no_jobs && (
        <>
          <Counted limit={l} state="running" title="What runs under it" none="No job that it counts runs" />
          <Counted limit={l} state="available" title="What is due, and not started" none="No job that it counts is due" />
        </>
      )}
    </Page>
  );
}

/** How many jobs of a limit are shown, and of how many that may be its own they are picked if no query selects them. */
const [shown, looked] = [20, 200];

/** The jobs of a limit in a state, the oldest first. A limit per key counts those that name it, which no query selects. */
function Counted({ limit: l, state, title, none }: { limit: Limit; state: string; title: string; none: string }) {
  const kinds = Object.keys(l.kinds ?? {});
  const jobs = useData<PageJob>("/jobs", { state, sort: "oldest", queue: l.queues ?? [], kind: kinds, limit: l.per_key ? looked : shown });
  const all = jobs.value?.items ?? [];
  const own = l.per_key ? all.filter((j) => j.limit === l.name) : all;
  const more = jobs.value?.next_cursor;
  const q = Object.entries({ queue: l.queues ?? [], kind: kinds }).flatMap(([name, of]) => (of.length > 0 ? `${name}:${of.map(quoted).join(",")}` : [])).join(" ");
  const columns = l.per_key ? [{ name: "Key of the limit", cell: (j: Job) => j.limit_key }, ...plainColumns] : plainColumns;
  return (
    <Card title={title} flush extra={more && !l.per_key && <a href={href("/jobs", { state, q, sort: "oldest" })}>All</a>}>
      {!jobs.value ? <Waits of={jobs} /> : own.length === 0 ? <p class="pad faint">{none}{more && ` among the oldest ${looked} that are ${state}`}.</p> : (
        <Table<Job> caption={title} rows={own.slice(0, shown)} id={(j) => j.id} columns={columns} />
      )}
    </Card>
  );
}
