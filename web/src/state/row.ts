// The row that was gone to by key: the id of what it shows. "": none.
import { signal } from "@preact/signals";

export const row = signal("");
