// The history of a run: its journal as it was written, in three forms.
import { useMemo } from "preact/hooks";
import type { JournalEntry } from "../api/schema";
import { param, set } from "../state/route";
import { Card } from "../ui/basics";
import { number } from "../ui/format";
import { Payload } from "../ui/json";
import { Paged } from "../ui/table";
import { fileOf, type HistoryFile } from "./file";

const categories: Record<string, string[]> = {
  steps: ["step", "step retry", "step failed"], waits: ["timer", "timeout", "received", "callback", "awaited"], children: ["child"], told: ["published", "streamed"], requests: ["updated"],
};

/** How many entries are shown as JSON. */
const mostAsJSON = 2000;

/** The journal as it is: each entry, or the last of each place, or JSON. */
export function History({ of: file, began }: { of: HistoryFile; began: number }) {
  const { entries } = file;
  const form = param("history") || "compact";
  const only = param("only");
  const shown = useMemo(() => {
    const of = Object.hasOwn(categories, only) ? entries.filter((e) => categories[only]?.includes(e.kind)) : entries;
    if (form !== "compact") return of;
    const last = new Map<string, JournalEntry>();
    for (const e of of) last.set(e.path || "seq " + e.seq, e);
    return [...last.values()];
  }, [entries, only, form]);
  const download = () => {
    const url = URL.createObjectURL(new Blob([fileOf(file)], { type: "application/json" }));
    const link = Object.assign(document.createElement("a"), { href: url, download: `history${file.job ? "-" + file.job.id : ""}.json` });
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Card title="History" flush extra={
      <div class="toolbar">
        <div class="segments" role="group" aria-label="Form of the history">
          {["compact", "feed", "json"].map((f) => <button key={f} aria-pressed={form === f} onClick={() => set({ history: f === "compact" ? "" : f }, true)}>{f}</button>)}
        </div>
        <label><span class="hidden">Only</span><select value={only} onChange={(e) => set({ only: e.currentTarget.value }, true)}>{["", ...Object.keys(categories)].map((c) => <option key={c} value={c}>{c || "all"}</option>)}</select></label>
        <button onClick={download}>Download</button>
      </div>
    }>
      {form === "json" ? (
        <>
          <Payload value={shown.slice(0, mostAsJSON)} name="history" />
          {shown.length > mostAsJSON && <p class="faint pad">These are the first {number(mostAsJSON)}. “Download” has all.</p>}
        </>
      ) : (
        <Paged<JournalEntry> caption="History" rows={shown} size={50} of={form + only} id={(e) => e.seq ?? ""} columns={[
          { name: "#", num: true, cell: (e) => e.seq },
          { name: "After", num: true, cell: (e) => <span title={e.at ?? ""}>{e.at ? ((Date.parse(e.at) - began) / 1000).toFixed(3) + "s" : "–"}</span> },
          { name: "Place", cell: (e) => <span class="mono">{e.path}</span> },
          { name: "What", cell: (e) => e.kind },
          { name: "Name", cell: (e) => e.name },
          { name: "Took", num: true, cell: (e) => e.took ?? "" },
          { name: "Data", wide: true, cell: (e) => <code class="clip">{e.data === null || e.data === undefined ? "" : JSON.stringify(e.data).slice(0, 200)}</code> },
        ]} />
      )}
    </Card>
  );
}
