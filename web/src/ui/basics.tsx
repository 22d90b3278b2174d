// The small parts that all pages are made of.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { urlOf, type Failure, type Params } from "../api/http";
import { now } from "../state/clock";
import { focusPage } from "../state/focus";
import { zone } from "../state/prefs";
import { href, path } from "../state/route";
import { namespace } from "../state/session";
import { duration, relative, sh, shortID, time } from "./format";
import { Menu } from "./menu";
import { toast } from "./toast";

/** A time, as how long ago it is, or how long something lasts since; its title says when that was. */
export function Time({ at, precise, lasts }: { at: string | null | undefined; precise?: boolean; lasts?: boolean }) {
  if (!at) return <span class="faint">–</span>;
  const ms = Date.parse(at);
  const full = time(ms, zone.value === "utc", true);
  return (
    <time dateTime={at} title={full}>
      {precise ? full : lasts ? duration(Math.floor(Math.max(0, now.value - ms) / 1000) * 1000) : relative(ms, now.value)}
    </time>
  );
}

/** How a state looks: a sign and a word, so that nobody needs the colour. */
const signs: Record<string, string> = {
  scheduled: "◷", available: "●", running: "▶", retryable: "↻", waiting: "‖", completed: "✓", failed: "✕", cancelled: "⊘",
  paused: "‖", ok: "✓", quiet: "☾", draining: "⇣", dead: "✕",
};

export function State({ state, text }: { state: string | null | undefined; text?: string }) {
  return (
    <span class={"state " + (state ?? "")}>
      <span aria-hidden="true">{signs[state ?? ""] ?? "·"}</span> {text ?? state ?? "gone"}
    </span>
  );
}

export function JobLink({ id, children }: { id: string | null | undefined; children?: ComponentChildren }) {
  if (!id) return <span class="faint">–</span>;
  return (
    <a class={children ? "" : "mono id"} href={href("/jobs/" + id)} title={typeof children === "string" ? `${children} ${id}` : id}>
      {children ?? shortID(id)}
    </a>
  );
}

export const QueueLink = ({ name }: { name: string | null | undefined }) =>
  name ? <a href={href("/queues/" + encodeURIComponent(name))} title={name}>{name}</a> : <span class="faint">–</span>;

/** The queue of Holdfast's own jobs, such as changes of many jobs. */
export const isOwn = (queue: string) => queue === "holdfast";

export function Page({ title, actions, children, crumbs }: {
  title: ComponentChildren;
  actions?: ComponentChildren;
  crumbs?: ComponentChildren;
  children: ComponentChildren;
}) {
  useEffect(focusPage, []);
  return (
    <>
      <header class="page-head">
        <div>
          {crumbs && <p class="crumbs">{crumbs}</p>}
          <h1 tabIndex={-1}>{title}</h1>
        </div>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </>
  );
}

export function Card({ title, children, extra, flush }: { title?: ComponentChildren; extra?: ComponentChildren; children: ComponentChildren; flush?: boolean }) {
  return (
    <section class={flush ? "card flush" : "card"}>
      {(title || extra) && (
        <header>
          {title && <h2>{title}</h2>}
          {extra}
        </header>
      )}
      {children}
    </section>
  );
}

/** What is known of a thing, as terms and their values; those without one are left out. */
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** What went wrong, and what to do. */
export function Trouble({ error, retry, page }: { error: Failure; retry?: () => void; /** It stands in place of the page. */ page?: boolean }) {
  const misnamed = error.fields.find((f) => f.pointer.startsWith("path")); // nothing has such an id: to ask again does not help
  const title = error.status === 404 || misnamed ? "It is not there" : "That did not work";
  const rights = error.status === 403 ? "Ask for a key with this scope, or sign in with another one." : "";
  return (
    <div class="trouble" role="alert">
      {page ? <h1 tabIndex={-1}>{title}</h1> : <strong>{title}</strong>}
      {misnamed ? <NoSuch why={misnamed.detail} /> : <p>{error.message} {rights}</p>}
      <p class="faint">
        {error.code}
        {error.request && <> · request {error.request}{error.status >= 500 && ", which the log of the server has, too"}</>}
      </p>
      {page && error.status === 404 && <p class="faint">It was looked for in the namespace {namespace.value}: it may be in another one, or was removed.</p>}
      {retry && !misnamed && <button onClick={retry}>Try again</button>}
    </div>
  );
}

/** That the path names nothing that could be there, and the way to what is. */
function NoSuch({ why }: { why: string }) {
  const list = path.value.split("/")[1] ?? "";
  const [one, all] = list === "dead" ? ["group", "dead letters"] : [list === "batches" ? "batch" : list.slice(0, -1), list];
  return <p>There is no such {one}: {why.replace("invalid value: ", "")}. <a href={href("/" + list)}>All {all}</a></p>;
}

/** In place of what is not there yet: lines, or why it does not come. */
export function Waits({ of, rows, page }: { of: { error?: Failure; reload: () => void }; rows?: number; page?: boolean }) {
  return of.error ? <Trouble page={page} error={of.error} retry={of.reload} /> : <Skeleton rows={rows} />;
}

/** A link that somebody has written into code, if it is one that a page may have. */
export function OutLink({ to, children }: { to: string; children: ComponentChildren }) {
  return /^(https?:\/\/|mailto:)/i.test(to) ? <a href={to} rel="noreferrer noopener" target="_blank">{children}</a> : <span class="mono break">{to}</span>;
}

/** What is shown where there is nothing yet: what that means, and the command that changes it. */
export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <p><strong>{title}</strong></p>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export const Skeleton = ({ rows = 5 }: { rows?: number }) => (
  <div class="skeleton" aria-label="Loading">
    {Array.from({ length: rows }, (_, i) => <div key={i} />)}
  </div>
);

/** Has the browser save a text as a file. */
export function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** Puts a text into the clipboard, also where browsers have none for pages without TLS. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast("Copied");
}

export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <code>{text}</code>
      <button class="quiet" onClick={() => void copy(text)}>Copy</button>
    </div>
  );
}

/**
 * A menu with a thing as the command line, curl and Go have it. command is that of "holdfast", without the namespace; get is the path
 * of the API. A namespace that is not the one of the command's own accord is named.
 */
export function CopyAs({ command, get, params, go, id }: { command: string; get: string; params?: Params; go?: string; id?: string }) {
  const n = namespace.value;
  const of: Record<string, string | undefined> = {
    command: "holdfast " + command + (n === "default" ? "" : sh` --namespace ${n}`),
    curl: sh`curl -H "Authorization: Bearer $HOLDFAST_TOKEN" ${urlOf(get, { namespace: n, ...params })}`,
    Go: go,
    ID: id,
  };
  return (
    <Menu name="Copy as">
      {Object.entries(of).map(([name, text]) => text && <button key={name} data-copy={text} title={text} onClick={() => void copy(text)}>{name}</button>)}
    </Menu>
  );
}

/** A share of a whole, with its numbers beside it. */
export function Meter({ value, of, label }: { value: number; of: number; label: string }) {
  const share = of > 0 ? Math.min(1, value / of) : 0;
  return (
    <span class="meter" title={label}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="8" class="rail" />
        <rect width={share * 100} height="8" class={share >= 1 ? "full" : "fill"} />
      </svg>
      <span class="num">{label}</span>
    </span>
  );
}
