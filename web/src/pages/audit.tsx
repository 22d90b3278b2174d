// The audit: who has changed what, and what it was before.
import type { AuditEntry } from "../api/schema";
import { param } from "../state/route";
import { CopyAs, Empty, JobLink, Page, Time } from "../ui/basics";
import { List, Narrow } from "../ui/table";

/** The settings that differ between before and after. */
export function differences(before: Record<string, unknown> | null, after: Record<string, unknown> | null): [string, unknown, unknown][] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names].sort().filter((n) => JSON.stringify(before?.[n]) !== JSON.stringify(after?.[n])).map((n) => [n, before?.[n], after?.[n]]);
}

const written = (value: unknown) => (value === undefined || value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value));

function What({ entry: e }: { entry: AuditEntry }) {
  const all = differences(e.before as Record<string, unknown> | null, e.after as Record<string, unknown> | null);
  return (
    <>
      {e.detail && <span>{e.detail}</span>}
      {all.length > 0 && (
        <ul class="plain">{all.map(([name, was, is]) => <li key={name}><b>{name}</b> {e.before && <><del>{written(was)}</del> → </>}<ins>{written(is)}</ins></li>)}</ul>
      )}
    </>
  );
}

export function Audit() {
  return (
    <Page title="Audit" actions={<CopyAs command="audit list" get="/audit" go={`entries, err := audit.List(ctx, hf, audit.Filter{}, "", 100)`} />}>
      <div class="toolbar"><Narrow by="actor">Actor</Narrow><Narrow by="action">Action</Narrow><Narrow by="kind">Of</Narrow><Narrow by="name">Name</Narrow></div>
      <List<AuditEntry> caption="Audit" path="/audit" refresh="slow" params={{ actor: param("actor"), action: param("action"), kind: param("kind"), name: param("name") }} id={(e) => e.id}
        empty={<Empty title="Nothing has been changed, as asked">What people change is recorded here: settings, schedules, limits, keys, and what they do with jobs.</Empty>}
        columns={[
          { name: "When", cell: (e) => <Time at={e.at} /> },
          { name: "Who", cell: (e) => <span class="break">{e.actor ?? "unknown"}</span> },
          { name: "Did", cell: (e) => e.action },
          { name: "With", cell: (e) => <>{e.target.kind} {e.target.kind === "job" ? <JobLink id={e.target.name} /> : <b>{e.target.name}</b>}</> },
          { name: "What", cell: (e) => <What entry={e} /> },
        ]} />
    </Page>
  );
}
