// Server-Sent Events over fetch: unlike EventSource it sends Last-Event-ID from the beginning, and
// can be told to stop without losing its place.

export interface Frame {
  id?: string;
  event: string;
  data: string;
}

/** Cuts a stream of text, which comes in any pieces, into frames. */
export class Frames {
  private rest = "";
  private lines: string[] = [];

  push(text: string): Frame[] {
    const all: Frame[] = [];
    const parts = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = parts.pop() ?? "";
    for (const line of parts) {
      if (line !== "") {
        this.lines.push(line);
        continue;
      }
      const frame = parse(this.lines);
      this.lines = [];
      if (frame) all.push(frame);
    }
    return all;
  }
}

function parse(lines: string[]): Frame | null {
  const frame: Frame = { event: "message", data: "" };
  const data: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon === 0) continue; // a comment, which keeps the connection
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") frame.event = value;
    else if (name === "id" && !value.includes("\0")) frame.id = value;
  }
  frame.data = data.join("\n");
  return data.length > 0 || frame.id !== undefined ? frame : null;
}

/** How long to wait before the nth try, in milliseconds: longer each time, and not all at once. */
export function pause(tries: number, random = Math.random()): number {
  return Math.min(15_000, 500 * 2 ** Math.min(tries, 6)) * (0.5 + random / 2);
}

/** How long a stream may be silent, in milliseconds: it has a heartbeat each 15 s. */
const silence = 45_000;

/** What is waited for, unless it takes too long; then it is let go of. */
export async function within<T>(ms: number, what: Promise<T>, letGo: () => void): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, failed) => {
    timer = setTimeout(() => {
      letGo();
      failed(new Error("nothing has come for long"));
    }, ms);
  });
  try {
    return await Promise.race([what, late]);
  } finally {
    clearTimeout(timer);
  }
}

export interface Follower {
  url: string;
  signal: AbortSignal;
  onFrame(frame: Frame): void;
  /** Told true once it is connected, false when it is not any more. */
  onState(connected: boolean, status: number): void;
}

/** Whether the server itself has answered, and no proxy before it. */
const isOurs = (r: Response) => r.ok || (r.headers.get("Content-Type") ?? "").includes("problem+json");

/** Follows a stream until the signal, and comes back with its place whenever it breaks off. */
export async function follow(f: Follower): Promise<void> {
  let last: string | undefined;
  for (let tries = 0; !f.signal.aborted; tries++) {
    let status = 0;
    const one = new AbortController();
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const signal = AbortSignal.any([f.signal, one.signal]);
      const response = await within(silence, fetch(f.url, { headers, signal, credentials: "same-origin" }), () => one.abort());
      status = isOurs(response) ? response.status : 0;
      if (response.ok && response.body) {
        tries = 0;
        f.onState(true, status);
        const frames = new Frames();
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { done, value } = await within(silence, reader.read(), () => void reader.cancel());
          if (done) break;
          for (const frame of frames.push(value)) {
            if (frame.id) last = frame.id;
            f.onFrame(frame);
          }
        }
      }
    } catch {
      // it broke off, or was told to
    }
    if (f.signal.aborted) return;
    f.onState(false, status);
    if (status === 401) return; // who comes back is asked anew
    const refused = status === 403 || status === 404; // for now: a right may be given, a feed begun
    await new Promise((wake) => setTimeout(wake, refused ? 60_000 : pause(tries)));
  }
}
