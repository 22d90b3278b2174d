// The charts of counts and latencies, for all jobs or those of a queue.
import { useData } from "../api/data";
import type { StatsPoint, StatsPoints } from "../api/schema";
import { now } from "../state/clock";
import { param, set } from "../state/route";
import { Chart, steps } from "../ui/chart";
import { duration, short } from "../ui/format";
import { Skeleton, Trouble } from "../ui/basics";

const spans: Record<string, { ms: number; step: string; stepMS: number }> = {
  "1h": { ms: 3_600_000, step: "1m", stepMS: 60_000 },
  "6h": { ms: 6 * 3_600_000, step: "5m", stepMS: 300_000 },
  "24h": { ms: 24 * 3_600_000, step: "20m", stepMS: 1_200_000 },
  "7d": { ms: 7 * 86_400_000, step: "2h", stepMS: 7_200_000 },
};

export const span = () => (param("span") in spans ? param("span") : "1h");

export function Spans() {
  return (
    <div class="segments" role="group" aria-label="Span of the charts">
      {Object.keys(spans).map((s) => (
        <button key={s} aria-pressed={s === span()} onClick={() => set({ span: s === "1h" ? "" : s }, true)}>{s}</button>
      ))}
    </div>
  );
}

const n = (p: StatsPoint | undefined, f: "completed" | "failed" | "retried" | "cancelled") => Number(p?.[f] ?? 0);
const ms = (seconds: number | undefined) => (seconds === undefined ? null : seconds * 1000);

export function Charts({ queue }: { queue?: string }) {
  const s = spans[span()] as (typeof spans)[string];
  const data = useData<StatsPoints>("/stats/jobs", { since: () => new Date(Date.now() - s.ms).toISOString(), step: s.step, queue }, "slow");
  if (!data.value) return data.error ? <Trouble error={data.error} retry={data.reload} /> : <Skeleton rows={4} />;
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
