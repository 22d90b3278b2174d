// Which columns of a list are shown, and in which order: as chosen in this browser.
import { chosen } from "../state/prefs";
import { Menu } from "./menu";
import type { Column } from "./table";

/** The columns to show: those of names, in that order, or all that are not left out at first. Names that are not known are passed over. */
export function pickColumns<C extends { name: string; off?: boolean }>(all: C[], names: string[] | undefined): C[] {
  const picked = names?.map((n) => all.find((c) => c.name === n)).filter((c) => c !== undefined);
  return picked && picked.length > 0 ? picked : all.filter((c) => !c.off);
}

export function ColumnMenu<T>({ list, all }: { list: string; all: Column<T>[] }) {
  const shown = pickColumns(all, chosen.value[list]).map((c) => c.name);
  const save = (names: string[] | undefined) => {
    const { [list]: _, ...rest } = chosen.value;
    chosen.value = names ? { ...rest, [list]: names } : rest;
  };
  const up = (i: number) => save([...shown.slice(0, i - 1), shown[i] as string, shown[i - 1] as string, ...shown.slice(i + 1)]);
  return (
    <Menu name="Columns" stays>
      {[...shown, ...all.map((c) => c.name).filter((n) => !shown.includes(n))].map((name, i) => (
        <span key={name} class="item">
          <label class="check">
            <input type="checkbox" checked={i < shown.length} disabled={shown.length === 1 && i === 0}
              onChange={(e) => save(e.currentTarget.checked ? [...shown, name] : shown.filter((n) => n !== name))} /> {name}
          </label>
          {i > 0 && i < shown.length && <button class="quiet" aria-label={`Move ${name} to the front`} title="To the front" onClick={() => up(i)}>↑</button>}
        </span>
      ))}
      <button onClick={() => save(undefined)}>As they were</button>
    </Menu>
  );
}
