// The schedules, and one of them with the times at which it fires.
import { useEffect, useState } from "preact/hooks";
import { change, useData } from "../api/data";
import { path, request, urlOf } from "../api/http";
import type { Backfill, Job, PageJob, PageQueue, Schedule, SchedulePreview, ScheduleRun, WholeSchedule } from "../api/schema";
import { zone } from "../state/prefs";
import { go, href, param } from "../state/route";
import { may, namespace } from "../state/session";
import { Action, json, type Ask } from "../ui/action";
import { Card, CopyAs, Empty, Facts, JobLink, Page, QueueLink, Skeleton, State, Time, Trouble } from "../ui/basics";
import { onClock, timeIn, writtenAs, zoneOf } from "../run/zone";
import { sh, time } from "../ui/format";
import { Payload } from "../ui/json";
import { Menu } from "../ui/menu";
import { List, Table } from "../ui/table";

const overlaps = ["skip", "allow", "buffer-one", "buffer-all", "cancel-other", "terminate-other"];

/** The jobs with ids, in one request. */
function useJobs(ids: string[]): Map<string, Job> {
  const jobs = useData<PageJob>(may("jobs:read") && ids.length > 0 ? "/jobs" : null, { q: "id:" + ids.join(","), limit: ids.length }, "slow");
  return new Map(jobs.value?.items.map((j) => [j.id, j]));
}

/** All schedules, or the form for a new one: that is a parameter, since each path below is the name of a schedule. */
export function Schedules() {
  return param("new") ? <NewSchedule /> : <AllSchedules />;
}

function AllSchedules() {
  const [last, setLast] = useState<string[]>([]);
  const jobs = useJobs(last);
  return (
    <Page title="Schedules" actions={<>{may("schedules:write") && <a class="button" href={href("/schedules", { new: "1" })}>New schedule</a>}<CopyAs command="schedule list" get="/schedules" go={`schedules, err := schedule.List(ctx, hf, "", 100)`} /></>}>
      <List<Schedule> caption="Schedules" path="/schedules" refresh="slow" id={(s) => s.name} seen={(rows) => setLast(rows.flatMap((s) => s.last_job ?? []))}
        empty={<Empty title="There are no schedules" command={`holdfast schedule create nightly --cron '0 3 * * *' --tz Europe/Berlin report`}>One enqueues a job at each of its times:</Empty>}
        columns={[
          { name: "Schedule", cell: (s) => <a href={href("/schedules/" + encodeURIComponent(s.name))}>{s.name}</a> },
          { name: "Times", cell: (s) => <>{s.words} {s.drift && <span class="tag">differs from code</span>}</> },
          { name: "Kind", cell: (s) => s.job.kind },
          { name: "Queue", wide: true, cell: (s) => <QueueLink name={s.job.queue} /> },
          { name: "Next", cell: (s) => (s.paused ? <State state="paused" /> : <Time at={s.next} />) },
          { name: "Last job", cell: (s) => <LastJob id={s.last_job} job={jobs.get(s.last_job ?? "")} /> },
          { name: "Fired", num: true, wide: true, cell: (s) => s.fired },
          { name: "", cell: (s) => may("schedules:write") && <Action quiet run={trigger(s.name)}>Trigger</Action> },
        ]} />
    </Page>
  );
}

function LastJob({ id, job }: { id: string | null; job: Job | undefined }) {
  if (!id) return <span class="faint">–</span>;
  return job ? <><a href={href("/jobs/" + id)}><State state={job.state} /></a> <Time at={job.created_at} /></> : <JobLink id={id} />;
}

const trigger = (name: string) => async (once: string) => {
  const run = await change<ScheduleRun>("POST", path`/schedules/${name}/trigger`, {}, { once });
  return run.job ? `Schedule ${name} has fired: job ${run.job}` : `Schedule ${name} has fired, and its overlap policy let no job begin`;
};

export function SchedulePage({ name }: { name: string }) {
  const data = useData<WholeSchedule>(path`/schedules/${name}`, { next: 20 }, "slow");
  const queues = useData<PageQueue>(may("queues:read") ? "/queues" : null, { limit: 200 }, "slow");
  const s = data.value;
  if (!s) return data.error ? <Trouble page error={data.error} retry={data.reload} /> : <Skeleton rows={8} />;
  const queue = queues.value?.items.find((q) => q.name === s.job.queue);
  return (
    <Page title={<>{s.name} {s.paused && <State state="paused" />}</>} crumbs={<a href={href("/schedules")}>Schedules</a>} actions={<Actions schedule={s} etag={data.etag} />}>
      {s.paused && <div class="note">Paused by {s.paused_by ?? "unknown"} <Time at={s.paused_at} />{s.note && <>: “{s.note}”</>}</div>}
      {queue?.paused && <div class="note" role="alert">Its queue {queue.name} is paused: what it enqueues does not start. That is another thing than pausing the schedule.</div>}
      {s.clock_change?.effect && <div class="note">Clocks change: {s.clock_change.effect} <span class="faint">(<Time at={s.clock_change.at} precise />)</span></div>}
      {s.differences.length > 0 && (
        <div class="note"><strong>It differs from what code declares</strong><ul>{s.differences.map((d) => <li key={d.setting}>{d.setting}: <code>{JSON.stringify(d.is)}</code>, declared <code>{JSON.stringify(d.declared)}</code></li>)}</ul></div>
      )}
      <div class="columns">
        <Card title="Facts">
          <Facts of={[
            ["Times", s.words], ["As written", <code key="t">{s.times}</code>], ["Kind", s.job.kind], ["Queue", <QueueLink key="q" name={s.job.queue} />],
            ["If the last one still runs", s.overlap], ["Missed times", s.missed + (s.window ? ` within ${s.window}` : "")], ["Jitter", s.jitter],
            ["From", s.start && <Time at={s.start} precise />], ["Until", s.end && <Time at={s.end} precise />], ["Fires left", s.fires_left],
            ["Fired", s.fired], ["Declared in code", s.declared ? "yes" : "no"], ["Changed", <Time key="u" at={s.updated_at} />],
          ]} />
          <Payload value={s.job.args} name="args" />
        </Card>
        <Card title="Next times" flush>
          {s.next_times.length === 0 ? <p class="pad faint">It fires no more.</p> : (
            <Table caption="Next times" rows={s.next_times} id={(t) => t.at ?? ""} columns={[
              { name: "There", cell: (t) => t.local }, { name: "Here", cell: (t) => <Time at={t.at} precise /> }, { name: "In", cell: (t) => <Time at={t.at} /> },
            ]} />
          )}
        </Card>
      </div>
      <Card title="Runs" flush>
        <List<ScheduleRun> caption="Runs" path={path`/schedules/${s.name}/runs`} refresh="slow" id={(r) => (r.nominal ?? "") + r.number} empty={<Empty title="It has not fired yet" />} columns={[
          { name: "For", cell: (r) => <Time at={r.nominal} precise /> }, { name: "Fired", cell: (r) => <Time at={r.at} /> },
          { name: "State", cell: (r) => <State state={r.state} /> }, { name: "Job", cell: (r) => <JobLink id={r.job} /> },
        ]} />
      </Card>
    </Page>
  );
}

/** A range of times on the clock of the schedule, and on that of the page. */
function Range({ from, to, there }: { from: number; to: number; there: string }) {
  const utc = zone.value === "utc";
  return (
    <ul class="plain">
      <li>{onClock(from, there)} to {onClock(to, there)} in {there}</li>
      <li>{time(from, utc)} to {time(to, utc)} {utc ? "as this page has it" : `in ${Intl.DateTimeFormat().resolvedOptions().timeZone}, as this page has it`}</li>
    </ul>
  );
}

/** Asks for a range on the clock of the schedule. An hour that comes twice is in it as a whole. */
function backfillOf(s: WholeSchedule): Ask {
  const there = zoneOf(s.times);
  return {
    title: `Backfill ${s.name}`, yes: "Count", text: `Jobs for the times of a range, as if it had fired. They are counted first. The times are those of ${there}.`,
    fields: [{ name: "from", label: `From, in ${there}`, type: "datetime-local", required: true }, { name: "to", label: `To, in ${there}`, type: "datetime-local", required: true }],
    run: async (v) => {
      const [from, to] = [timeIn(v.from ?? "", there), timeIn(v.to ?? "", there, true)];
      const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
      const found = await change<Backfill>("POST", path`/schedules/${s.name}/backfill`, { ...range, dry_run: true });
      const n = `${found.times}${found.exact ? "" : " or more"}`;
      return {
        title: `Enqueue ${n} jobs`, yes: "Enqueue", text: <>So many times of {s.name} are in the range:<Range from={from} to={to} there={there} /></>,
        run: async () => {
          const done = await change<Backfill>("POST", path`/schedules/${s.name}/backfill`, range);
          return `${done.enqueued} jobs are enqueued, ${done.skipped} were there`;
        },
      };
    },
  };
}

function Actions({ schedule: s, etag }: { schedule: WholeSchedule; etag: string }) {
  const pause: Ask = {
    title: `Pause ${s.name}`, yes: "Pause", fields: [{ name: "note", label: "Why, for others" }],
    run: async (v) => { await change("POST", path`/schedules/${s.name}/pause`, { note: v.note || undefined }, { etag: "*" }); return "It is paused"; },
  };
  const is = writtenAs(s.times);
  const edit: Ask = {
    title: `Change ${s.name}`, yes: "Save", text: <>It fires {s.words}. “New schedule” shows the next times as you write; here they follow once it is saved.</>,
    fields: [
      { name: "cron", label: "Cron", value: is.cron }, { name: "every", label: "Or every", value: is.every, hint: "such as 15m" }, { name: "tz", label: "Time zone", value: is.zone },
      { name: "overlap", label: "If the last one still runs", type: "select", options: overlaps, value: s.overlap }, { name: "jitter", label: "Jitter", value: s.jitter ?? "" },
      { name: "args", label: "Args, as JSON", type: "json", hint: "as they are, if it is empty" },
    ],
    run: async (v) => {
      const cron = v.cron && (v.cron !== is.cron || v.tz !== is.zone) ? v.cron : undefined; // with which its zone goes
      await change("PATCH", path`/schedules/${s.name}`, {
        cron, tz: cron && (v.tz || is.zone), skip_gaps: cron && is.skips ? true : undefined, every: v.every && v.every !== is.every ? v.every : undefined, overlap: v.overlap !== s.overlap ? v.overlap : undefined,
        jitter: v.jitter !== (s.jitter ?? "") ? v.jitter || "0s" : undefined, job: v.args ? { args: json(v.args) } : undefined,
      }, { etag });
      return "It is changed";
    },
  };
  const remove: Ask = {
    title: `Delete ${s.name}`, yes: "Delete", danger: true, text: "It fires no more. Its jobs stay.",
    run: async () => { await change("DELETE", path`/schedules/${s.name}`, undefined, { etag: "*" }); go(href("/schedules")); return "It is deleted"; },
  };
  return (
    <>
      {may("schedules:write") && (
        <>
          <Action run={trigger(s.name)}>Trigger now</Action>
          {s.paused ? <Action run={async () => { await change("POST", path`/schedules/${s.name}/resume`, {}, { etag: "*" }); return "It goes on"; }}>Resume</Action> : <Action ask={pause}>Pause…</Action>}
          <Action ask={edit}>Change…</Action>
          {s.drift && <Action run={async () => { await change("PATCH", path`/schedules/${s.name}`, { reset: true }, { etag }); return "It is as code declares"; }}>Reset to code</Action>}
          <Menu name="More"><Action ask={backfillOf(s)}>Backfill…</Action><Action danger ask={remove}>Delete…</Action></Menu>
        </>
      )}
      <CopyAs command={sh`schedule get ${s.name}`} get={path`/schedules/${s.name}`} go={`s, err := schedule.Get(ctx, hf, ${JSON.stringify(s.name)})`} />
    </>
  );
}

/** The form for a new schedule, with its next times as it is written. */
function NewSchedule() {
  const [v, setV] = useState({ name: "", cron: "0 3 * * *", every: "", tz: Intl.DateTimeFormat().resolvedOptions().timeZone, kind: "", queue: "", args: "", overlap: "skip" });
  const [preview, setPreview] = useState<SchedulePreview | null>(null);
  const [problem, setProblem] = useState("");
  const times = v.every ? { every: v.every } : { cron: v.cron, tz: v.tz };
  useEffect(() => {
    const abort = new AbortController(); // an answer to what the form said before does not count
    const timer = setTimeout(() => {
      request<SchedulePreview>("POST", urlOf("/schedules/preview", { namespace: namespace.value }), { name: v.name || undefined, ...times, limit: 5 }, { signal: abort.signal }).then(
        (p) => { if (!abort.signal.aborted) { setPreview(p.body); setProblem(""); } },
        (e: Error) => { if (!abort.signal.aborted) { setPreview(null); setProblem(e.message); } },
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [v.name, v.cron, v.every, v.tz]);
  const field = (name: keyof typeof v, label: string, hint?: string, required = false) => (
    <label>{label}<input value={v[name]} required={required} spellcheck={false} autocomplete="off" onInput={(e) => setV({ ...v, [name]: e.currentTarget.value })} />{hint && <small>{hint}</small>}</label>
  );
  const create = async (event: Event) => {
    event.preventDefault();
    try {
      await change("POST", "/schedules", { name: v.name, ...times, overlap: v.overlap, job: { kind: v.kind, queue: v.queue || undefined, args: json(v.args) } });
      go(href("/schedules/" + encodeURIComponent(v.name)));
    } catch (e) {
      setProblem((e as Error).message);
    }
  };
  return (
    <Page title="New schedule" crumbs={<a href={href("/schedules")}>Schedules</a>}>
      <div class="columns">
        <form class="card form" onSubmit={(e) => void create(e)}>
          {field("name", "Name", undefined, true)}
          {field("cron", "Cron", "minute hour day month weekday; also @daily, L, W, #")}
          {field("every", "Or every", "such as 15m; then cron does not count")}
          {field("tz", "Time zone")}
          {field("kind", "Kind", undefined, true)}
          {field("queue", "Queue")}
          <label>Args, as JSON<textarea class="mono" rows={4} value={v.args} onInput={(e) => setV({ ...v, args: e.currentTarget.value })} /></label>
          <label>If the last one still runs<select value={v.overlap} onChange={(e) => setV({ ...v, overlap: e.currentTarget.value })}>{overlaps.map((o) => <option key={o} value={o}>{o}</option>)}</select></label>
          <div class="buttons"><button class="solid" type="submit">Create</button></div>
        </form>
        <Card title="When it fires">
          {problem && <p class="bad" role="alert">{problem}</p>}
          {preview && (
            <>
              <p><strong>{preview.words}</strong></p>
              <ol class="plain">{preview.next_times.map((t) => <li key={t.at}>{t.local} <span class="faint"><Time at={t.at} /></span></li>)}</ol>
              {preview.clock_change?.effect && <p class="note">Clocks change: {preview.clock_change.effect}</p>}
            </>
          )}
        </Card>
      </div>
    </Page>
  );
}
