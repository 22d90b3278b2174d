/** What index.d.ts tells is what src/index.js has: tsc compares them. */

import type * as told from "holdfast";
import * as made from "../src/index.js";

// Classes whose constructor is told of as private are compared by their instances.
type Values<T> = Omit<T, "Job">;

export const all: Values<typeof told> = made;
export const nothingMore: Record<keyof typeof made, unknown> = {} as typeof told;

declare const job: InstanceType<typeof made.Job>;
export const told_job: Pick<told.Job<any>, keyof told.Job> = job;

declare const run: import("../src/run.js").Run;
export const told_run: told.Run = run;

declare const context: import("../src/durable.js").Context;
export const told_context: told.Context = context;
