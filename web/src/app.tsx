// The dashboard: a page for each path.
import { effect } from "@preact/signals";
import { render, type ComponentChildren } from "preact";
import { paused, selecting } from "./api/data";
import { watch } from "./api/live";
import { Audit } from "./pages/audit";
import { BatchPage, Batches } from "./pages/batches";
import { Dead, DeadPage } from "./pages/dead";
import { FilePage } from "./pages/file";
import { JobPage } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { Keys } from "./pages/keys";
import { LimitPage, Limits } from "./pages/limits";
import { NodePage, Nodes } from "./pages/nodes";
import { OperationPage, Operations } from "./pages/operations";
import { Overview } from "./pages/overview";
import { QueuePage, Queues } from "./pages/queues";
import { SchedulePage, Schedules } from "./pages/schedules";
import { Settings } from "./pages/settings";
import { listenToKeys } from "./shell/keys";
import { Palette } from "./shell/palette";
import { Shell } from "./shell/shell";
import { SignIn } from "./shell/signin";
import { tick } from "./state/clock";
import { dress, look } from "./state/look";
import { href, listen, page, path, place } from "./state/route";
import { caller, identify, trouble } from "./state/session";
import { Dialog } from "./ui/action";
import { Empty, Page } from "./ui/basics";
import { Fence } from "./ui/fence";
import { Toasts } from "./ui/toast";

/** The parts of a path; one that is no text as it is stays so. */
function partsOf(path: string): string[] {
  return path.slice(1).split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

function pageOf(path: string): ComponentChildren {
  const [first = "", second, ...rest] = partsOf(path);
  if (rest.length === 0 && second !== undefined) {
    switch (first) {
      case "jobs": return <JobPage key={second} id={second} />;
      case "batches": return <BatchPage key={second} id={second} />;
      case "queues": return <QueuePage key={second} name={second} />;
      case "schedules": return <SchedulePage key={second} name={second} />;
      case "limits": return <LimitPage key={second} name={second} />;
      case "nodes": return <NodePage key={second} id={second} />;
      case "dead": return <DeadPage key={second} fingerprint={second} />;
      case "operations": return <OperationPage key={second} id={second} />;
    }
  }
  if (second === undefined) {
    switch (first) {
      case "": return <Overview />;
      case "jobs": return <Jobs />;
      case "batches": return <Batches />;
      case "queues": return <Queues />;
      case "schedules": return <Schedules />;
      case "limits": return <Limits />;
      case "nodes": return <Nodes />;
      case "dead": return <Dead />;
      case "operations": return <Operations />;
      case "audit": return <Audit />;
      case "keys": return <Keys />;
      case "settings": return <Settings />;
      case "history": return <FilePage />;
    }
  }
  return <Page title="There is no such page"><Empty title={path}><a href={href("/")}>Go to the overview</a></Empty></Page>;
}

function App() {
  const c = caller.value;
  const at = path.value;
  if (!c) return <>{trouble.value ? <SignIn /> : null}<Toasts /></>;
  return (
    <>
      <Shell><Fence key={page.value}>{pageOf(at)}</Fence></Shell>
      <Dialog />
      <Palette />
      <Toasts />
    </>
  );
}

const names: Record<string, string> = { "": "Overview", dead: "Dead letters", keys: "API keys" };

listen();
dress();
tick();
listenToKeys();
effect(() => {
  const [first = "", second] = partsOf(path.value);
  const name = names[first] ?? first.charAt(0).toUpperCase() + first.slice(1);
  document.title = `${second ? second + " · " : ""}${name} · ${look.title}`;
});
let namespace: string | null | undefined;
effect(() => {
  const now = place.value.query.get("namespace");
  if (now === namespace) return;
  namespace = now;
  void identify();
});
watch(() => paused.value, () => selecting.value);
render(<App />, document.getElementById("app") as HTMLElement);
