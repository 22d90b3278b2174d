// Who uses the page, and what that person may do.
import { computed, signal } from "@preact/signals";
import { Failure, request, urlOf } from "../api/http";
import type { Caller } from "../api/schema";
import { param } from "./route";

export const caller = signal<Caller | null>(null);
/** Why there is no caller: "": it is not known yet; "sign in": a credential is needed. */
export const trouble = signal("");

export const namespace = computed(() => param("namespace") || caller.value?.namespace || "default");

/** Whether the caller may do something. A server that only reads lets it change nothing. */
export function may(scope: string): boolean {
  const c = caller.value;
  return !!c && c.scopes.includes(scope) && !(c.read_only && !scope.endsWith(":read"));
}

export async function identify(): Promise<void> {
  try {
    caller.value = (await request<Caller>("GET", urlOf("/whoami", { namespace: param("namespace") }))).body;
    trouble.value = "";
  } catch (error) {
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
  caller.value = null;
  trouble.value = "sign in";
}
