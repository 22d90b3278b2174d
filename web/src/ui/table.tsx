// Tables of rows, and lists of the API by pages.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { selecting, useData, type Refresh } from "../api/data";
import type { Params } from "../api/http";
import { param, set } from "../state/route";
import { Skeleton, Trouble } from "./basics";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers stand on the right, in figures of one width. */
  num?: boolean;
  /** Left out where there is little room. */
  wide?: boolean;
}

export interface Selection {
  has: (id: string) => boolean;
  toggle: (ids: string[], on: boolean) => void;
}

export function Table<T>({ caption, columns, rows, id, selection, current }: {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  selection?: Selection;
  current?: string;
}) {
  const [from, setFrom] = useState(-1);
  const pick = (i: number, on: boolean, range: boolean) => {
    const [a, b] = range && from >= 0 ? [Math.min(from, i), Math.max(from, i)] : [i, i];
    selection?.toggle(rows.slice(a, b + 1).map(id), on);
    setFrom(i);
  };
  return (
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
          {rows.map((row, i) => (
            <tr key={id(row)} data-row={id(row)} class={current === id(row) ? "current" : ""}>
              {selection && (
                <td class="pick">
                  <input type="checkbox" aria-label={"Select " + id(row)} checked={selection.has(id(row))}
                    onClick={(e) => pick(i, e.currentTarget.checked, e.shiftKey)} />
                </td>
              )}
              {columns.map((c) => <td key={c.name} class={kindOf(c)}>{c.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const kindOf = <T,>(c: Column<T>) => (c.num ? "num " : "") + (c.wide ? "wide" : "");

interface PageOf<T> {
  items: T[];
  next_cursor: string | null;
}

/** A list of the API. The place in it is in the URL; rows change in place, and new ones come only to the first page. */
export function List<T>({ caption, path, params = {}, columns, id, empty, refresh = "live", select, size = 50 }: {
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
}) {
  const cursor = param("cursor");
  const data = useData<PageOf<T>>(path, { ...params, limit: size, cursor }, refresh);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    selecting.value = picked.size > 0;
  }, [picked.size]);
  useEffect(() => () => { selecting.value = false; }, []);
  if (!data.value) return data.error ? <Trouble error={data.error} retry={data.reload} /> : <Skeleton />;
  const { items, next_cursor } = data.value;
  const toggle = (ids: string[], on: boolean) => {
    const next = new Set(picked);
    for (const one of ids) on ? next.add(one) : next.delete(one);
    setPicked(next);
  };
  return (
    <>
      {data.error && <Trouble error={data.error} retry={data.reload} />}
      {select?.([...picked], () => setPicked(new Set()))}
      {items.length === 0 ? (cursor ? <p class="faint pad">There is nothing more.</p> : empty) : (
        <Table caption={caption} columns={columns} rows={items} id={id} selection={select && { has: (one) => picked.has(one), toggle }} />
      )}
      {(cursor || next_cursor) && (
        <nav class="pages" aria-label={"Pages of " + caption}>
          {cursor && <button onClick={() => history.back()}>← Back</button>}
          {cursor && <button onClick={() => set({ cursor: "" })}>First page</button>}
          {next_cursor && <button onClick={() => set({ cursor: next_cursor })}>Next page →</button>}
        </nav>
      )}
    </>
  );
}
