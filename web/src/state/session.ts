// Who uses the page, and what that person may do.
import { computed, signal } from "@preact/signals";
import { Failure, request, urlOf } from "../api/http";
import type { Caller } from "../api/schema";
import { param } from "./route";

export const caller = signal<Caller | null>(null);
/** Why there is no caller: "": it is not known yet; "sign in": a credential is needed. */
export const trouble = signal("");

/** The namespace that a caller has who names none. */
const home = signal("");

export const namespace = computed(() => param("namespace") || home.value || caller.value?.namespace || "default");

/** Whether the caller may do something. A server that only reads lets it change nothing. */
export function may(scope: string): boolean {
  const c = caller.value;
  return !!c && c.scopes.includes(scope) && !(c.read_only && !scope.endsWith(":read"));
}

let asking = 0;

export async function identify(): Promise<void> {
  const turn = ++asking;
  if (!param("namespace") && !home.peek()) caller.value = null; // nobody knows yet which namespace that is
  try {
    const { body } = await request<Caller>("GET", urlOf("/whoami", { namespace: param("namespace") }));
    if (turn !== asking) return; // another namespace was gone to meanwhile
    if (!param("namespace")) home.value = body.namespace;
    caller.value = body;
    trouble.value = "";
  } catch (error) {
    if (turn !== asking) return;
    caller.value = null;
    trouble.value = error instanceof Failure && error.status === 401 ? "sign in" : (error as Error).message;
  }
}

const sessionURL = () => new URL("session", document.baseURI).href;

export async function signIn(token: string): Promise<void> {
  await request("POST", sessionURL(), { token });
  await identify();
}

export async function signOut(): Promise<void> {
  await request("DELETE", sessionURL());
  leave();
  ended.value = false;
}

/** Whether somebody was signed in whose credential is no good any more. */
export const ended = signal(false);

/** The credential is no good any more. */
export function leave(): void {
  ended.value = caller.peek() !== null;
  caller.value = null;
  trouble.value = "sign in";
}
