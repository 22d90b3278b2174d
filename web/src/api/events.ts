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

export interface Follower {
  url: string;
  signal: AbortSignal;
  onFrame(frame: Frame): void;
  /** Told true once it is connected, false when it is not any more. */
  onState(connected: boolean, status: number): void;
}

/** Follows a stream until the signal, and comes back with its place whenever it breaks off. */
export async function follow(f: Follower): Promise<void> {
  let last: string | undefined;
  for (let tries = 0; !f.signal.aborted; tries++) {
    let status = 0;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const response = await fetch(f.url, { headers, signal: f.signal, credentials: "same-origin" });
      status = response.status;
      if (response.ok && response.body) {
        tries = 0;
        f.onState(true, status);
        const frames = new Frames();
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { done, value } = await reader.read();
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
    if (status === 401 || status === 403 || status === 404) return; // it would be refused again
    await new Promise((wake) => setTimeout(wake, pause(tries)));
  }
}
