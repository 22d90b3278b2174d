// A history from a file, such as one that somebody has sent: shown as that of a run, without a server that has it.
import { useState } from "preact/hooks";
import { historyOf, spanOf, type HistoryFile } from "../run/file";
import { History, Inbox } from "../run/history";
import { Timeline } from "../run/timeline";
import { Card, Empty, Page } from "../ui/basics";

export function FilePage() {
  const [open, setOpen] = useState<{ name: string; history: HistoryFile } | null>(null);
  const [error, setError] = useState("");
  const read = async (file: File | undefined) => {
    if (!file) return;
    try {
      setOpen({ name: file.name, history: historyOf(await file.text()) });
      setError("");
    } catch (e) {
      setOpen(null);
      setError((e as Error).message);
    }
  };
  const span = open && spanOf(open.history);
  const job = open?.history.job;
  return (
    <Page title="A history from a file">
      <div class="toolbar" onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); void read(e.dataTransfer?.files[0]); }}>
        <label>File <input type="file" accept=".json,application/json" onChange={(e) => void read(e.currentTarget.files?.[0])} /></label>
        <span class="faint">It stays in this browser.</span>
      </div>
      {error && <div class="trouble" role="alert"><p>{error}</p></div>}
      {open && span ? (
        <>
          <p class="faint pad">{open.name}{job && <> · {job.kind} <span class="mono">{job.id}</span> {job.state}</>}</p>
          <Card title="Timeline" flush><Timeline run={{ entries: open.history.entries, messages: open.history.messages, ...span }} /></Card>
          <History of={open.history} began={span.began} />
          <Inbox of={open.history} began={span.began} />
        </>
      ) : !error && (
        <Empty title="No file is open" command="holdfast job journal ID --output json > history.json">Choose one that “Download” in the history of a run has made, or one of the command:</Empty>
      )}
    </Page>
  );
}
