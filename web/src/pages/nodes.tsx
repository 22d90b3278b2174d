// The nodes: what they are, what they run, and whether they are well.
import { change, useData } from "../api/data";
import { path } from "../api/http";
import type { Node, PageJob, StatsSamples } from "../api/schema";
import { now, serverNow } from "../state/clock";
import { href, param, set } from "../state/route";
import { may } from "../state/session";
import { Action, type Ask } from "../ui/action";
import { Card, CopyAs, Empty, Facts, Meter, Page, QueueLink, State, Time, Waits } from "../ui/basics";
import { Chart, steps } from "../ui/chart";
import { duration, short } from "../ui/format";
import { List, Table } from "../ui/table";
import { plainColumns } from "./jobs";
import { by } from "./query";

function Health({ node: n }: { node: Node }) {
  if (!n.alive) return <State state="dead" text={n.ended ?? "gone"} />;
  if (n.silent) return <State state="failed" text="silent" />;
  if (n.unwell && n.unwell.length > 0) return <State state="failed" text="unwell" />;
  return <State state={n.mode === "running" ? "ok" : n.mode} text={n.mode === "running" ? "well" : n.mode} />;
}

const tell = (n: Node, mode: "quiet" | "resume" | "drain") => async () => {
  await change("POST", path`/nodes/${n.id ?? ""}/${mode}`);
  return mode === "quiet" ? `${n.name} claims no more jobs` : mode === "resume" ? `${n.name} claims jobs again` : `${n.name} ends what it runs, and leaves`;
};

function Actions({ node: n, quiet }: { node: Node; quiet?: boolean }) {
  if (!may("nodes:write") || !n.alive) return null;
  const drain: Ask = { title: `Drain ${n.name}`, yes: "Drain", danger: true, text: "It claims no more, ends what it runs, and leaves. What restarts it may start it anew.", run: tell(n, "drain") };
  return (
    <>
      {n.mode === "running" ? <Action quiet={quiet} run={tell(n, "quiet")}>Quiet</Action> : <Action quiet={quiet} run={tell(n, "resume")}>Resume</Action>}
      {n.mode !== "draining" && <Action quiet={quiet} danger ask={drain}>Drain…</Action>}
    </>
  );
}

export function Nodes() {
  const all = param("all") === "1";
  return (
    <Page title="Nodes" actions={
      <>
        <label class="check"><input type="checkbox" checked={all} onChange={(e) => set({ all: e.currentTarget.checked ? "1" : "" })} /> Also those that are gone</label>
        <CopyAs command="node list" get="/nodes" go="nodes, err := hf.Nodes(ctx)" />
      </>
    }>
      <List<Node> caption="Nodes" path="/nodes" params={{ alive: all ? undefined : true }} refresh="slow" id={(n) => n.id ?? n.name}
        empty={<Empty title="No node is here" command="holdfast worker">Jobs run on nodes: your own program, or this command for the kinds that are built in.</Empty>}
        columns={[
          { name: "Node", cell: (n) => <><a href={href("/nodes/" + n.id)}>{n.name}</a> {n.leader && <span class="tag">leads</span>}</> },
          { name: "Health", cell: (n) => <Health node={n} /> },
          { name: "Slots", cell: (n) => <Meter value={n.running} of={n.slots} label={`${n.running} of ${n.slots}`} /> },
          { name: "Queues", wide: true, cell: (n) => n.queues?.join(", ") ?? "all" },
          { name: "Version", wide: true, cell: (n) => n.version ?? "–" },
          { name: "Host", wide: true, cell: (n) => n.host ?? "–" },
          { name: "Started", cell: (n) => <Time at={n.started_at} /> },
          { name: "Beat", cell: (n) => <Time at={n.beat_at} /> },
          { name: "", cell: (n) => <Actions node={n} quiet /> },
        ]} />
    </Page>
  );
}

const mib = (n: number) => short(n / 2 ** 20) + " MiB";
const seconds = (n: number) => duration(n * 1000);

/** The gauges that are drawn, and how their numbers are written. Those that are not here are those of the program's own. */
const gauges: Record<string, [string, (n: number) => string]> = {
  slots_used: ["Slots in use", short], cpu_share: ["Processors in use", short], goroutines: ["Goroutines", short], heap_bytes: ["Heap", mib], rss_bytes: ["Memory of the process", mib],
  memory_bytes: ["Memory of the Go runtime", mib], beat_seconds: ["Time of a heartbeat", seconds],
};

/** Those that grow, or stay as they are: a line of them tells nothing. */
const dull = ["cpu_seconds", "gc_pause_seconds", "cpus", "slots"];

function Gauges({ node: n }: { node: Node }) {
  const data = useData<StatsSamples>("/stats/nodes", { since: () => new Date(serverNow() - 3_600_000).toISOString(), step: "1m" }, "slow");
  if (!data.value) return <Waits of={data} rows={4} />;
  const { at, of } = steps(data.value.items.filter((s) => s.node === n.id), now.value - 3_600_000, now.value, 60_000);
  const names = [...new Set(of.flatMap((s) => Object.keys(s?.values ?? {})))].filter((name) => !dull.includes(name)).sort();
  if (names.length === 0) return <p class="faint pad">It has told nothing of itself in the last hour.</p>;
  return (
    <div class="charts small">
      {names.map((name) => {
        const [title, unit] = gauges[name] ?? [name.replaceAll("_", " "), name.endsWith("bytes") ? mib : name.endsWith("seconds") ? seconds : short];
        return <Chart key={name} title={title} at={at} unit={unit} series={[{ name: "value", look: "one", values: of.map((s) => s?.values[name] ?? null) }]} />;
      })}
    </div>
  );
}

export function NodePage({ id }: { id: string }) {
  const data = useData<Node>(path`/nodes/${id}`, {}, "slow");
  const n = data.value;
  const jobs = useData<PageJob>(may("jobs:read") ? "/jobs" : null, { state: "running", limit: 200 });
  if (!n) return <Waits page of={data} rows={6} />;
  const running = jobs.value?.items.filter((j) => j.node === id) ?? [];
  return (
    <Page title={<>{n.name} <Health node={n} /></>} crumbs={<a href={href("/nodes")}>Nodes</a>} actions={<><Actions node={n} /><CopyAs command="node list" get={path`/nodes/${id}`} /></>}>
      {n.unwell && n.unwell.length > 0 && <div class="trouble" role="alert"><ul>{n.unwell.map((u) => <li key={u}>{u}</li>)}</ul></div>}
      <div class="columns">
        <Card title="Facts">
          <Meter value={n.running} of={n.slots} label={`${n.running} of ${n.slots} slots in use`} />
          <Facts of={[
            ["Leads", n.leader && "yes"], ["Mode", n.mode], ["Mode set by", n.mode_by && <>{n.mode_by} <Time at={n.mode_at} /></>], ["Host", n.host], ["Version", n.version], ["Holdfast", n.engine],
            ["Namespace", n.namespace ?? "all"], ["Started", <Time key="s" at={n.started_at} precise />], ["Beat", <Time key="b" at={n.beat_at} />], ["Taken for dead after", n.dead_after], ["Ended", n.ended && <>{n.ended} <Time at={n.ended_at} /></>],
          ]} />
        </Card>
        <Card title="What it serves">
          <Facts of={[
            ["Queues", n.queues && n.queues.length > 0 ? n.queues.map((q) => <div key={q}><QueueLink name={q} /> {n.queue_slots?.[q] !== undefined && <span class="faint">{n.queue_slots[q]} slots</span>}</div>) : "all"],
            ["Kinds", n.kinds && n.kinds.length > 0 ? n.kinds.map((k) => <div key={k}><a href={href("/jobs", { q: by("kind", k) })}>{k}</a></div>) : "all"],
          ]} />
        </Card>
      </div>
      {may("stats:read") && <Card title="The last hour"><Gauges node={n} /></Card>}
      <Card title="What it runs" flush>
        {running.length === 0 ? <p class="pad faint">It runs no job{(jobs.value?.next_cursor && " among the newest 200 that run") || ""}.</p> : <Table caption="What it runs" rows={running} id={(j) => j.id} columns={plainColumns} />}
      </Card>
    </Page>
  );
}
