// The history of a run: its journal as it was written, in three forms.
import { useMemo } from "preact/hooks";
import type { JournalEntry } from "../api/schema";
import { param, set } from "../state/route";
import { may } from "../state/session";
import { Card, save } from "../ui/basics";
import { number } from "../ui/format";
import { Payload } from "../ui/json";
import { Paged } from "../ui/table";
import { categories, categoryOf, chosen } from "./category";
import { fileOf, nameOf, withoutTokens, type HistoryFile } from "./file";
import { most } from "./read";


/** How many entries are shown as JSON. */
const mostAsJSON = 2000;

/** The journal as it is: each entry, or the last of each place, or JSON. */
export function History({ of, began }: { of: HistoryFile; began: number }) {
  const open = may("jobs:write");
  const file = useMemo(() => (open ? of : withoutTokens(of)), [of.entries, of.messages, of.job?.state, open]);
  const { entries } = file;
  const form = param("history") || "compact";
  const only = categoryOf(param("only"));
  const newest = param("order") === "newest";
  const shown = useMemo(() => chosen(entries, { only, last: form === "compact", newest }), [entries, only, form, newest]);
  const cut = entries.length >= most;
  const download = () => save(`history${file.job ? "-" + file.job.id : ""}${cut ? "-first-" + entries.length : ""}.json`, fileOf(file));
  return (
    <Card title="History" flush extra={
      <div class="toolbar">
        <div class="segments" role="group" aria-label="Form of the history">
          {["compact", "feed", "json"].map((f) => <button key={f} aria-pressed={form === f} onClick={() => set({ history: f === "compact" ? "" : f }, true)}>{f}</button>)}
        </div>
        <label><span class="hidden">Only</span><select value={only} onChange={(e) => set({ only: e.currentTarget.value }, true)}>{["", ...categories].map((c) => <option key={c} value={c}>{c || "all"}</option>)}</select></label>
        <button aria-pressed={newest} onClick={() => set({ order: newest ? "" : "newest" }, true)}>Newest first</button>
        <button onClick={download}>Download</button>
        {cut && <span class="faint">The file has the first {number(entries.length)} entries: a longer journal is cut there. The command has all of it: holdfast job journal.</span>}
      </div>
    }>
      {form === "json" ? (
        <>
          <Payload value={shown.slice(0, mostAsJSON)} name="history" />
          {shown.length > mostAsJSON && <p class="faint pad">These are the first {number(mostAsJSON)}. “Download” has those that were read.</p>}
        </>
      ) : (
        <Paged<JournalEntry> caption="History" rows={shown} size={50} of={form + only + newest} id={(e) => e.seq ?? ""} columns={[
          { name: "#", num: true, cell: (e) => e.seq },
          { name: "After", num: true, cell: (e) => <span title={e.at ?? ""}>{e.at ? ((Date.parse(e.at) - began) / 1000).toFixed(3) + "s" : "–"}</span> },
          { name: "Place", cell: (e) => <span class="mono">{e.path}</span> },
          { name: "What", cell: (e) => e.kind },
          { name: "Name", cell: nameOf },
          { name: "Took", num: true, cell: (e) => e.took ?? "" },
          { name: "Data", wide: true, cell: (e) => <code class="clip">{e.data === null || e.data === undefined ? "" : JSON.stringify(e.data).slice(0, 200)}</code> },
        ]} />
      )}
    </Card>
  );
}
