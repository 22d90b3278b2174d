// Tables of rows, and lists of the API by pages.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { selecting, useData, type Refresh } from "../api/data";
import type { Params } from "../api/http";
import { param, set } from "../state/route";
import { row as keyed } from "../state/row";
import { namespace } from "../state/session";
import { Waits } from "./basics";
import { number } from "./format";
import { areFree, hold, type Held } from "./hold";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers stand on the right, in figures of one width. */
  num?: boolean;
  /** Left out where there is little room. */
  wide?: boolean;
  /** Left out until somebody chooses it. */
  off?: boolean;
}

export interface Selection {
  any: boolean;
  has: (id: string) => boolean;
  toggle: (ids: string[], on: boolean) => void;
}

/** The rows to show: as given, or where they were while somebody is at one of them. of says what is listed: another list is shown at once. */
function useHeld<T>(given: T[], id: (row: T) => string, of: string) {
  const [over, setOver] = useState(false);
  const [, renew] = useState(0);
  const shown = useRef<{ of: string; rows: T[] }>({ of, rows: [] });
  const before = shown.current.of === of && shown.current.rows.length > 0 ? shown.current.rows : given;
  const isHeld = (over || before.some((r) => id(r) === keyed.value)) && !areFree();
  const held: Held<T> = hold(isHeld ? before : given, given, id);
  shown.current = { of, rows: held.rows };
  return {
    held, setOver,
    renew: () => {
      shown.current.rows = [];
      renew((n) => n + 1);
    },
  };
}

export function Table<T>({ caption, columns, rows: given, id, selection, of = "", cut = false, useLate, empty }: {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  selection?: Selection;
  /** Whether the list has more than these rows. */
  cut?: boolean;
  /** Tells one list from another in the same place. */
  of?: string;
  /** What is shown without rows. */
  empty?: ComponentChildren;
  /** A hook that reads those that are shown, and not of the list any more. */
  useLate?: (ids: string[]) => T[];
}) {
  const [from, setFrom] = useState("");
  const { held, setOver, renew } = useHeld(given, id, of);
  const late = new Map(useLate?.([...held.gone]).map((r) => [id(r), r]));
  const rows = held.rows.map((r) => late.get(id(r)) ?? r);
  const pick = (one: string, on: boolean, range: boolean) => {
    const ids = rows.map(id);
    const [a, b] = [ids.indexOf(one), range && ids.includes(from) ? ids.indexOf(from) : ids.indexOf(one)];
    selection?.toggle(ids.slice(Math.min(a, b), Math.max(a, b) + 1), on);
    setFrom(one);
  };
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <div class="held" onPointerEnter={() => setOver(true)} onPointerLeave={() => setOver(false)}>
      <p class="news">{held.more + held.gone.size > 0 && !selection?.any && <button class="solid" onClick={renew}>{newsOf(held, cut && held.more === given.length)}</button>}</p>
      <div class="table" tabIndex={0} role="region" aria-label={caption}>
        <table>
          <caption class="hidden">{caption}</caption>
          <thead>
            <tr>
              {selection && (
                <th scope="col" class="pick">
                  <input type="checkbox" aria-label="Select all rows" checked={rows.length > 0 && rows.every((r) => selection.has(id(r)))}
                    onChange={(e) => selection.toggle(rows.map(id), e.currentTarget.checked)} />
                </th>
              )}
              {columns.map((c) => <th key={c.name} scope="col" class={kindOf(c)}>{c.name || <span class="hidden">Actions</span>}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={id(row)} data-row={id(row)} class={(keyed.value === id(row) ? "current " : "") + (held.gone.has(id(row)) ? "gone" : "")}>
                {selection && (
                  <td class="pick">
                    <input type="checkbox" aria-label={"Select " + id(row)} checked={selection.has(id(row))}
                      onClick={(e) => pick(id(row), e.currentTarget.checked, e.shiftKey)} />
                  </td>
                )}
                {columns.map((c) => <td key={c.name} class={kindOf(c)}>{c.cell(row)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

const newsOf = <T,>(h: Held<T>, orMore: boolean) => (h.more === 0 ? `${h.gone.size} gone: update` : `${h.more}${orMore ? " or more" : ""} new: show`);

const kindOf = <T,>(c: Column<T>) => (c.num ? "num " : "") + (c.wide ? "wide" : "");

/** A table of rows that are all here, in pages. */
export function Paged<T>({ size, ...table }: { size: number } & Parameters<typeof Table<T>>[0]) {
  const [at, setAt] = useState(0);
  const n = table.rows.length;
  const from = Math.min(at, Math.floor(Math.max(0, n - 1) / size) * size);
  return (
    <>
      <Table<T> {...table} rows={table.rows.slice(from, from + size)} of={`${table.of ?? ""} ${from}`} />
      {n > size && (
        <nav class="pages" aria-label={"Pages of " + table.caption}>
          <button disabled={from === 0} onClick={() => setAt(from - size)}>← Earlier</button>
          <span class="faint">{number(from + 1)} to {number(Math.min(from + size, n))} of {number(n)}</span>
          <button disabled={from + size >= n} onClick={() => setAt(from + size)}>Later →</button>
        </nav>
      )}
    </>
  );
}

/** A field by which a list is narrowed: its value is in the URL. */
export function Narrow({ by, children }: { by: string; children: string }) {
  return <label>{children} <input value={param(by)} spellcheck={false} onChange={(e) => set({ [by]: e.currentTarget.value.trim(), cursor: "" })} /></label>;
}

/** The way from page to page of a list of the API. */
export function Pages({ of, next }: { of: string; next: string | null }) {
  const cursor = param("cursor");
  if (!cursor && !next) return null;
  return (
    <nav class="pages" aria-label={"Pages of " + of}>
      {cursor && (history.state as { within?: boolean } | null)?.within && <button onClick={() => history.back()}>← Back</button>}
      {cursor && <button onClick={() => set({ cursor: "" })}>First page</button>}
      {next && <button onClick={() => set({ cursor: next })}>Next page →</button>}
    </nav>
  );
}

/** How many rows that are not of the list any more are read again: their ids are in the URL. */
const mostLate = 100;

/** A page without rows, and with others after it: the server has looked at many, and found none so far. */
const Further = () => <p class="faint pad">None of those looked at so far is as asked. The next page looks further.</p>;

interface PageOf<T> {
  items: T[];
  next_cursor: string | null;
}

/** A list of the API. The place in it is in the URL; rows change in place. */
export function List<T>({ caption, path, params = {}, columns, id, empty, refresh = "live", select, size = 50, again, seen }: {
  caption: string;
  path: string;
  params?: Params;
  columns: Column<T>[];
  id: (row: T) => string;
  empty: ComponentChildren;
  refresh?: Refresh;
  /** Shown above the rows, of which it is told which are selected. */
  select?: (ids: string[], clear: () => void) => ComponentChildren;
  size?: number;
  /** What asks for certain rows, which stay in sight though the list has others by now. */
  again?: (ids: string[]) => Params;
  /** Is told the rows as they are read. */
  seen?: (rows: T[]) => void;
}) {
  const cursor = param("cursor");
  const data = useData<PageOf<T>>(path, { ...params, limit: size, cursor }, refresh);
  const useLate = (ids: string[]) => useData<PageOf<T>>(ids.length > 0 ? path : null, again?.(ids.slice(0, mostLate)) ?? {}, refresh).value?.items ?? [];
  useEffect(() => {
    if (data.value) seen?.(data.value.items);
  }, [data.value]);
  const of = JSON.stringify([namespace.value, path, params, cursor]);
  const [chosen, setChosen] = useState<{ of: string; ids: ReadonlySet<string> }>({ of, ids: new Set() });
  const picked = chosen.of === of ? chosen.ids : new Set<string>(); // those of another list are not shown, nor changed
  const setPicked = (ids: ReadonlySet<string>) => setChosen({ of, ids });
  useEffect(() => {
    selecting.value = picked.size > 0;
  }, [picked.size]);
  useEffect(() => () => { selecting.value = false; }, []);
  if (!data.value) return <Waits of={data} />;
  const { items, next_cursor } = data.value;
  const toggle = (ids: string[], on: boolean) => {
    const next = new Set(picked);
    for (const one of ids) on ? next.add(one) : next.delete(one);
    setPicked(next);
  };
  return (
    <>
      {select?.([...picked], () => setPicked(new Set()))}
      <Table caption={caption} columns={columns} rows={items} id={id} selection={select && { any: picked.size > 0, has: (one) => picked.has(one), toggle }}
        of={of} cut={next_cursor !== null} useLate={again && useLate}
        empty={next_cursor ? <Further /> : cursor ? <p class="faint pad">There is nothing more.</p> : empty} />
      <Pages of={caption} next={next_cursor} />
    </>
  );
}
