// The history of a run: its journal as it was written, in three forms.
import { useMemo } from "preact/hooks";
import type { JournalEntry, JournalMessage } from "../api/schema";
import { param, set } from "../state/route";
import { may } from "../state/session";
import { Card, JobLink, save } from "../ui/basics";
import { number } from "../ui/format";
import { Payload } from "../ui/json";
import { Paged } from "../ui/table";
import { categories, categoryOf, chosen } from "./category";
import { bySeq, dataOf, fileOf, nameOf, withoutTokens, type HistoryFile } from "./file";
import { most } from "./read";


/** How many entries are shown as JSON. */
const mostAsJSON = 2000;

/** The journal as it is: each entry, or the last of each place, or JSON. */
export function History({ of, began }: { of: HistoryFile; began: number }) {
  const open = may("jobs:write");
  const file = useMemo(() => (open ? of : withoutTokens(of)), [of.entries, of.messages, of.job?.state, open]);
  const { entries, messages } = file;
  const sent = useMemo(() => bySeq(messages), [messages]);
  const form = param("history") || "compact";
  const only = categoryOf(param("only"));
  const newest = param("order") === "newest";
  const shown = useMemo(() => chosen(entries, { only, last: form === "compact", newest }), [entries, only, form, newest]);
  const left = useMemo(() => chosen(entries, { only, last: false, newest }).length, [entries, only]) - shown.length;
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
          { name: "After", num: true, cell: (e) => <After at={e.at} began={began} /> },
          { name: "Place", cell: (e) => <span class="mono">{e.path}</span> },
          { name: "What", cell: (e) => e.kind },
          { name: "Name", cell: nameOf },
          { name: "Took", num: true, cell: (e) => e.took ?? "" },
          { name: "Data", wide: true, cell: (e) => <Short value={dataOf(e, sent)} /> },
        ]} />
      )}
      {form === "compact" && left > 0 && <p class="faint pad">{number(left)} earlier {left === 1 ? "entry" : "entries"} of these places, such as tries that failed, {left === 1 ? "is" : "are"} in the feed.</p>}
    </Card>
  );
}

/** A payload in one line, as far as there is room. */
const Short = ({ value }: { value: unknown }) => <code class="clip">{value === null || value === undefined ? "" : JSON.stringify(value).slice(0, 200)}</code>;

/** What was sent to the run, whether or not it has received it. */
export function Inbox({ of, began }: { of: HistoryFile; began: number }) {
  const open = may("jobs:write");
  const { messages } = useMemo(() => (open ? of : withoutTokens(of)), [of.entries, of.messages, open]);
  if (messages.length === 0) return null;
  return (
    <Card title="What was sent to it" flush>
      <Paged<JournalMessage> caption="What was sent to it" rows={messages} size={50} id={(m) => m.seq ?? ""} columns={[
        { name: "#", num: true, cell: (m) => m.seq },
        { name: "After", num: true, cell: (m) => <After at={m.at} began={began} /> },
        { name: "What", cell: (m) => m.kind },
        { name: "Name", cell: (m) => (m.kind.startsWith("callback") ? "" : m.name) },
        { name: "From", cell: (m) => <JobLink id={m.from} /> },
        { name: "State", cell: (m) => m.state ?? (m.unread ? "not received yet" : "") },
        { name: "Data", wide: true, cell: (m) => <Short value={m.error ?? m.data} /> },
      ]} />
    </Card>
  );
}

const After = ({ at, began }: { at: string | null; began: number }) => <span title={at ?? ""}>{at ? ((Date.parse(at) - began) / 1000).toFixed(3) + "s" : "–"}</span>;
