// Batches: jobs that were enqueued together, and whose end is told.
import { change, useData } from "../api/data";
import { path } from "../api/http";
import type { Batch, PageJob } from "../api/schema";
import { href } from "../state/route";
import { may } from "../state/session";
import { Action, type Ask } from "../ui/action";
import { Card, CopyAs, Empty, Facts, JobLink, Page, State, Time, Waits } from "../ui/basics";
import { number, sh } from "../ui/format";
import { List, Table } from "../ui/table";
import { plainColumns } from "./jobs";
import { by } from "./query";

const nameOf = (b: Batch) => b.name ?? b.id.slice(0, 13) + "…";

/** A count of members that have ended, which is known from the close on. */
const ended = (b: Batch, n: string) => (b.closed_at ? number(Number(n)) : "–");

export function Batches() {
  return (
    <Page title="Batches" actions={<CopyAs command="batch list" get="/batches" />}>
      <List<Batch> caption="Batches" path="/batches" refresh="slow" id={(b) => b.id}
        empty={<Empty title="There are no batches">Code makes one of jobs whose end, all together, is to be told: see docs/batches.md.</Empty>}
        columns={[
          { name: "Batch", cell: (b) => <a href={href("/batches/" + b.id)}>{nameOf(b)}</a> },
          { name: "State", cell: (b) => <State state={b.state} /> },
          { name: "Completed", num: true, cell: (b) => ended(b, b.completed) },
          { name: "Failed", num: true, cell: (b) => ended(b, b.failed) },
          { name: "Cancelled", num: true, cell: (b) => ended(b, b.cancelled) },
          { name: "Created", cell: (b) => <Time at={b.created_at} /> },
          { name: "Done", cell: (b) => <Time at={b.done_at} /> },
        ]} />
    </Page>
  );
}

export function BatchPage({ id }: { id: string }) {
  const data = useData<Batch>(path`/batches/${id}`);
  const jobs = useData<PageJob>(may("jobs:read") ? "/jobs" : null, { batch: id, limit: 50, sort: "oldest" });
  const b = data.value;
  if (!b) return <Waits page of={data} rows={6} />;
  const cancel: Ask = {
    title: `Cancel the jobs of ${nameOf(b)}`, yes: "Cancel them", danger: true, text: "Those that run are asked to stop.", fields: [{ name: "reason", label: "Reason, which is recorded" }],
    run: async (v) => {
      await change("POST", path`/batches/${id}/cancel`, { reason: v.reason || undefined });
      return "Its jobs are cancelled";
    },
  };
  return (
    <Page title={<>{nameOf(b)} <State state={b.state} /></>} crumbs={<><a href={href("/batches")}>Batches</a> / <span class="mono">{b.id}</span></>} actions={
      <>
        {may("jobs:write") && !b.done_at && <Action danger ask={cancel}>Cancel its jobs…</Action>}
        <CopyAs command={sh`batch get ${id}`} get={path`/batches/${id}`} id={id} />
      </>
    }>
      <div class="columns">
        <Card title="Facts">
          <Facts of={[
            ["Completed", ended(b, b.completed)], ["Failed", ended(b, b.failed)], ["Cancelled", ended(b, b.cancelled)],
            ["Created", <Time key="c" at={b.created_at} precise />], ["Closed", b.closed_at ? <Time at={b.closed_at} precise /> : "no: jobs may be added"], ["Done", b.done_at && <Time at={b.done_at} precise />],
          ]} />
        </Card>
        <Card title="Enqueued at its end" flush>
          {!b.calls || b.calls.length === 0 ? <p class="pad faint">No job.</p> : (
            <Table caption="Enqueued at its end" rows={b.calls} id={(c) => c.id} columns={[{ name: "When", cell: (c) => c.when }, { name: "Kind", cell: (c) => c.kind }, { name: "Job", cell: (c) => (b.done_at ? <JobLink id={c.id} /> : c.id.slice(0, 8)) }]} />
          )}
        </Card>
      </div>
      <Card title="Its jobs" flush extra={<a href={href("/jobs", { q: by("batch", id), sort: "oldest" })}>All</a>}>
        {!jobs.value ? <Waits of={jobs} /> : <Table caption="Its jobs" rows={jobs.value.items} id={(j) => j.id} columns={plainColumns} />}
      </Card>
    </Page>
  );
}
