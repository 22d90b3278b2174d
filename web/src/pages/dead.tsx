// Dead letters: failed jobs in groups of the same failure.
import { change, useData } from "../api/data";
import { path } from "../api/http";
import type { DeadChanged, DeadGroup, DeadGroups, Job } from "../api/schema";
import { href, param } from "../state/route";
import { may, namespace } from "../state/session";
import { Action, json, type Ask } from "../ui/action";
import { Card, CopyAs, Empty, JobLink, Page, Time, Waits } from "../ui/basics";
import { count, number, sh } from "../ui/format";
import { List, Narrow, Pages, Table } from "../ui/table";
import { plainColumns } from "./jobs";

type Verb = "redrive" | "purge" | "move";

/** Asks for a change of all jobs of a group as it is shown, with how many that are. What fails later is not of it. */
async function changeOf(verb: Verb, g: Pick<DeadGroup, "fingerprint" | "last_seen">, title: string): Promise<Ask> {
  const body = { fingerprint: [g.fingerprint], failed_before: g.last_seen ? new Date(Date.parse(g.last_seen) + 1).toISOString() : undefined };
  const params = { namespace: namespace.peek() };
  const found = await change<DeadChanged>("POST", `/dead/${verb}`, { ...body, ...(verb === "move" ? { to_queue: "default" } : {}), dry_run: true }, { params });
  const total = number(found.done) + (found.more ? "+" : "");
  return {
    title: `${title} ${total} ${found.done === 1 ? "job" : "jobs"}`, yes: title, danger: verb === "purge", typed: verb === "purge" ? String(found.done) : undefined,
    text: verb === "purge" ? "They are gone for good." : "They run again, with their attempts counted anew.",
    fields: [
      ...(verb === "redrive" ? [{ name: "rate", label: "At most so many in a second", type: "number" as const }, { name: "args", label: "With these args, as JSON", type: "json" as const, hint: "with their own, if it is empty" }] : []),
      ...(verb === "move" ? [{ name: "to_queue", label: "To the queue", required: true }] : []),
      { name: "reason", label: "Reason, which is recorded" },
    ],
    run: async (v, { isLeft }) => {
      const sum = { done: 0, failed: 0, why: "" };
      for (;;) {
        const part = await change<DeadChanged>("POST", `/dead/${verb}`, {
          ...body, reason: v.reason || undefined, rate: v.rate ? Number(v.rate) : undefined, args: json(v.args), to_queue: v.to_queue || undefined,
        }, { params });
        sum.done += part.done;
        sum.failed += part.failed;
        sum.why ||= part.refused?.[0]?.error ?? "";
        if (part.complete || part.done === 0 || isLeft()) return told(sum, part.complete);
      }
    },
  };
}

const told = (o: { done: number; failed: number; why: string }, isAll: boolean) =>
  `${number(o.done)} jobs are done` + (o.failed > 0 ? `, ${number(o.failed)} were refused: ${o.why}` : "") + (isAll ? "" : "; not all, do it again for the rest");

function Changes({ of, quiet }: { of: Pick<DeadGroup, "fingerprint" | "last_seen">; quiet?: boolean }) {
  if (!may("dead:write")) return null;
  const button = (verb: Verb, title: string) => <Action quiet={quiet} danger={verb === "purge"} prepare={() => changeOf(verb, of, title)}>{title}…</Action>;
  return <>{button("redrive", "Redrive")}{button("move", "Move")}{button("purge", "Purge")}</>;
}

export function Dead() {
  const cursor = param("cursor");
  const data = useData<DeadGroups>("/dead", { limit: 50, cursor, queue: param("queue"), kind: param("kind") }, "slow");
  return (
    <Page title="Dead letters" actions={<CopyAs command="dead list" get="/dead" go="page, err := dead.Groups(ctx, hf, store.DeadParams{Limit: 50})" />}>
      <p class="faint">Failed jobs, in groups of the same kind and failure. A group can be tried again as a whole, once its cause is mended.</p>
      <div class="toolbar"><Narrow by="kind">Kind</Narrow><Narrow by="queue">Queue</Narrow></div>
      {!data.value ? <Waits of={data} /> : data.value.items.length === 0 && (param("kind") || param("queue")) ? (
        <Empty title="No failed job is of these" />
      ) : data.value.items.length === 0 ? (
        <Empty title="No job has failed for good">Nothing has to be mended.</Empty>
      ) : (
        <>
          <Table<DeadGroup> caption="Groups of failed jobs" rows={data.value.items} id={(g) => g.fingerprint} columns={[
            { name: "Kind", cell: (g) => <a href={href("/dead/" + g.fingerprint)}>{g.kind}</a> },
            { name: "Failure", cell: (g) => <span class="clip rest" title={g.error ?? ""}>{g.error ?? g.reason}</span> },
            { name: "Jobs", num: true, cell: (g) => count(g.count) },
            { name: "First", wide: true, cell: (g) => <Time at={g.first_seen} /> },
            { name: "Last", cell: (g) => <Time at={g.last_seen} /> },
            { name: "Queues", wide: true, cell: (g) => g.queues?.join(", ") },
            { name: "Sample", wide: true, cell: (g) => <JobLink id={g.job} /> },
            { name: "", cell: (g) => <Changes of={g} quiet /> },
          ]} />
          <Pages of="groups" next={data.value.next_cursor} />
        </>
      )}
    </Page>
  );
}

export function DeadPage({ fingerprint }: { fingerprint: string }) {
  const group = useData<DeadGroups>("/dead", { fingerprint, limit: 1 }, "slow");
  const g = group.value?.items[0];
  return (
    <Page title={g ? <>{g.kind} <span class="faint num">{count(g.count)}</span></> : "Dead letters"} crumbs={<a href={href("/dead")}>Dead letters</a>} actions={<>{g && <Changes of={g} />}<CopyAs command={sh`dead get ${fingerprint}`} get={path`/dead/${fingerprint}`} /></>}>
      {g?.error && <Card title="Failure"><pre class="wrap">{g.error}</pre></Card>}
      <List<Job> caption="Failed jobs" path={path`/dead/${fingerprint}`} columns={plainColumns} id={(j) => j.id} empty={<Empty title="There are none any more" />} />
    </Page>
  );
}
