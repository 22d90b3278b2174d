// Operations: changes of many jobs, which nodes make piece by piece.
import { change, useData } from "../api/data";
import { path } from "../api/http";
import type { Operation } from "../api/schema";
import { href } from "../state/route";
import { may } from "../state/session";
import { Action } from "../ui/action";
import { Card, CopyAs, Empty, Facts, JobLink, Meter, Page, State, Time, Waits } from "../ui/basics";
import { number } from "../ui/format";
import { Payload } from "../ui/json";
import { List, Table } from "../ui/table";

const progress = (o: Operation) => {
  const done = o.changed + o.already + o.refused + o.gone;
  const of = Math.max(o.matched, o.expected, done);
  return <Meter value={done} of={of} label={`${number(done)} of ${number(of)}`} />;
};

const stop = (o: Operation) => async () => {
  await change("POST", path`/operations/${o.id}/cancel`, {});
  return "It stops after the piece that is under way";
};

export function Operations() {
  return (
    <Page title="Operations" actions={<CopyAs command="operation list" get="/operations" go={`page, err := operation.List(ctx, hf, "", 100)`} />}>
      <List<Operation> caption="Operations" path="/operations" refresh="slow" id={(o) => o.id}
        empty={<Empty title="There are no operations">Select jobs by a query, on the page of <a href={href("/jobs")}>jobs</a>, to change them all.</Empty>}
        columns={[
          { name: "What", cell: (o) => <a href={href("/operations/" + o.id)}>{o.action}</a> },
          { name: "State", cell: (o) => <State state={o.state} /> },
          { name: "Progress", cell: progress },
          { name: "By", cell: (o) => o.actor ?? "–" },
          { name: "Reason", wide: true, cell: (o) => o.reason },
          { name: "Began", cell: (o) => <Time at={o.created_at} /> },
        ]} />
    </Page>
  );
}

export function OperationPage({ id }: { id: string }) {
  const data = useData<Operation>(path`/operations/${id}`);
  const o = data.value;
  if (!o) return <Waits page of={data} rows={6} />;
  return (
    <Page title={<>{o.action} <State state={o.state} /></>} crumbs={<a href={href("/operations")}>Operations</a>}
      actions={
        <>
          {!o.finished_at && may("operations:write") && <Action danger run={stop(o)}>Stop</Action>}
          <CopyAs command={`operation get ${id}`} get={path`/operations/${id}`} go={`id, err := uuid.Parse("${id}")\ninfo, err := operation.Get(ctx, hf, id)`} id={id} />
        </>
      }>
      <Card>
        {progress(o)}
        <Facts of={[
          ["Changed", number(o.changed)], ["Were so already", o.already > 0 && number(o.already)], ["Refused", o.refused > 0 && number(o.refused)], ["Gone", o.gone > 0 && number(o.gone)],
          ["By", o.actor], ["Reason", o.reason], ["Note", o.note], ["Error", o.error], ["Began", <Time key="b" at={o.created_at} precise />], ["Ended", o.finished_at && <Time at={o.finished_at} precise />],
        ]} />
      </Card>
      {o.refusals && o.refusals.length > 0 && (
        <Card title="Refused" flush>
          <Table caption="Refused" rows={o.refusals} id={(r) => r.job} columns={[{ name: "Job", cell: (r) => <JobLink id={r.job} /> }, { name: "Why", cell: (r) => r.error }]} />
        </Card>
      )}
      <Card title="What it selects"><Payload value={o.filter} name="filter" /></Card>
    </Page>
  );
}
