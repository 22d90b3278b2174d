// The charts of counts and latencies, for all jobs or those of a queue.
import { useData } from "../api/data";
import type { StatsPoint, StatsPoints } from "../api/schema";
import { now, serverNow } from "../state/clock";
import { param, set } from "../state/route";
import { may } from "../state/session";
import { Chart, Spark, steps } from "../ui/chart";
import { duration, short } from "../ui/format";
import { Waits } from "../ui/basics";

const spans: Record<string, { ms: number; step: string; stepMS: number }> = {
  "1h": { ms: 3_600_000, step: "1m", stepMS: 60_000 },
  "6h": { ms: 6 * 3_600_000, step: "5m", stepMS: 300_000 },
  "24h": { ms: 24 * 3_600_000, step: "20m", stepMS: 1_200_000 },
  "7d": { ms: 7 * 86_400_000, step: "2h", stepMS: 7_200_000 },
};

export const span = () => (Object.hasOwn(spans, param("span")) ? param("span") : "1h");

export function Spans() {
  return (
    <div class="segments" role="group" aria-label="Span of the charts">
      {Object.keys(spans).map((s) => (
        <button key={s} aria-pressed={s === span()} onClick={() => set({ span: s === "1h" ? "" : s }, true)}>{s}</button>
      ))}
    </div>
  );
}

/** What has ended in each queue in the last hour. */
export interface Ended {
  total: number;
  failed: number;
  of: (StatsPoint | undefined)[];
}

const hour = 3_600_000;
const part = 300_000;

/** Points of queues, as what has ended in each of them. Those of the queues that have none of their own are not of one queue. */
export function endedOf(points: StatsPoint[], at: number): Map<string, Ended> {
  const of = new Map<string, StatsPoint[]>();
  for (const p of points) if (p.queue !== null && !p.other) of.set(p.queue, [...(of.get(p.queue) ?? []), p]);
  return new Map([...of].map(([queue, all]) => {
    const failed = all.reduce((sum, p) => sum + n(p, "failed"), 0);
    return [queue, { total: failed + all.reduce((sum, p) => sum + n(p, "completed"), 0), failed, of: steps(all, at - hour, at, part).of }];
  }));
}

export function useEnded(): Map<string, Ended> {
  const data = useData<StatsPoints>(may("stats:read") ? "/stats/jobs" : null, { since: () => new Date(serverNow() - hour).toISOString(), step: "5m", by: "queue" }, "slow");
  return endedOf(data.value?.items ?? [], now.peek());
}

export function EndedSpark({ of: e }: { of: Ended | undefined }) {
  if (!e) return <span class="faint">–</span>;
  return (
    <Spark title={`${short(e.total)} ended in the last hour, ${short(e.failed)} of them failed`} series={[
      { name: "completed", look: "good", values: e.of.map((p) => n(p, "completed")) }, { name: "failed", look: "bad", values: e.of.map((p) => n(p, "failed")) },
    ]} />
  );
}

const n = (p: StatsPoint | undefined, f: "completed" | "failed" | "retried" | "cancelled") => Number(p?.[f] ?? 0);
const ms = (seconds: number | undefined) => (seconds === undefined ? null : seconds * 1000);

export function Charts({ queue }: { queue?: string }) {
  const s = spans[span()] as (typeof spans)[string];
  const data = useData<StatsPoints>("/stats/jobs", { since: () => new Date(serverNow() - s.ms).toISOString(), step: s.step, by: "none", queue }, "slow");
  if (!data.value) return <Waits of={data} rows={4} />;
  const { at, of } = steps(data.value.items, now.value - s.ms, now.value, s.stepMS);
  const per = s.step === "1m" ? "a minute" : "in " + s.step;
  return (
    <div class="charts">
      <Chart title={"Ended " + per} at={at} stacked unit={short} series={[
        { name: "completed", look: "good", values: of.map((p) => n(p, "completed")) },
        { name: "retried", look: "warn", values: of.map((p) => n(p, "retried")) },
        { name: "failed", look: "bad", values: of.map((p) => n(p, "failed")) },
      ]} />
      <Chart title="Waited, due to started" at={at} unit={duration} series={[
        { name: "p50", look: "one", values: of.map((p) => ms(p?.wait?.p50_seconds)) },
        { name: "p99", look: "two", values: of.map((p) => ms(p?.wait?.p99_seconds)) },
      ]} />
      <Chart title="Ran" at={at} unit={duration} series={[
        { name: "p50", look: "one", values: of.map((p) => ms(p?.run?.p50_seconds)) },
        { name: "p99", look: "two", values: of.map((p) => ms(p?.run?.p99_seconds)) },
      ]} />
    </div>
  );
}
