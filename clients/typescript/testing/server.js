/** A real server for tests, which can be killed, and programs that are. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, closeSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Client, Worker } from "holdfast";

export const TOKEN = "the token of the tests, which is long";
export const FAST = { base: "10ms", cap: "10ms" };
const PATIENCE = 60_000;

/** A server process on a database of its own. */
export class Server {
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #process;

  /**
   * @param {string} directory
   * @param {number} port
   * @param {string} database
   */
  constructor(directory, port, database) {
    this.directory = directory;
    this.address = `127.0.0.1:${port}`;
    this.url = `http://${this.address}`;
    this.database = database;
  }

  /** Starts it, and returns when it answers. */
  async start() {
    const log = openSync(path.join(this.directory, "server.log"), "a");
    const args = [
      "server",
      "--database",
      this.database,
      "--listen",
      this.address,
      "--dead-after",
      "2s",
      "--beat",
      "500ms",
    ];
    this.#process = spawn(process.env.HOLDFAST_BINARY ?? "holdfast", args, {
      env: { ...process.env, HOLDFAST_TOKEN: TOKEN },
      stdio: ["ignore", "ignore", log],
    });
    closeSync(log);
    const client = new Client({ url: this.url, token: TOKEN, timeout: PATIENCE });
    for await (const _ of client.list({ limit: 1 }));
  }

  /** Kills it as a crash would. */
  async kill() {
    const process = this.#process;
    this.#process = undefined;
    if (process) await killed(process);
  }
}

/**
 * Returns a server that is there until the tests of the file are over, with a client of it.
 * @param {string} [database] without it a file of SQLite
 */
export async function serve(database) {
  const directory = mkdtempSync(path.join(tmpdir(), "holdfast-ts-"));
  const server = new Server(directory, await freePort(), database ?? path.join(directory, "jobs.db"));
  after(async () => {
    await server.kill();
    rmSync(directory, { recursive: true, force: true });
  });
  await server.start();
  return { server, client: new Client({ url: server.url, token: TOKEN, timeout: PATIENCE }) };
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (probe.address());
  probe.close();
  await once(probe, "close");
  return port;
}

/**
 * Lets a worker work until the end of a test.
 * @param {import("node:test").TestContext} t
 * @param {Worker} worker
 */
export function works(t, worker) {
  const running = worker.run({ signals: false });
  running.catch(() => {}); // it is told at the end
  t.after(async () => {
    worker.stop();
    await running;
  });
}

/**
 * Starts a program that uses the client, in a module of its own.
 * @param {import("node:test").TestContext} t
 * @param {string} source
 * @param {string} url
 * @param {string[]} args
 */
export function program(t, source, url, ...args) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source, ...args], {
    cwd: path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), ".."),
    env: { ...process.env, NODE_OPTIONS: "", NODE_TEST_CONTEXT: "", HOLDFAST_SERVER: url, HOLDFAST_TOKEN: TOKEN },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => killed(child));
  return child;
}

/**
 * Ends a process as a crash would, and waits until it has ended.
 * @param {import("node:child_process").ChildProcess} child
 */
export async function killed(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/**
 * Returns the code with which a process exits.
 * @param {import("node:child_process").ChildProcess} child
 */
export async function exited(child) {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

/**
 * Waits until something is so.
 * @param {string} what
 * @param {() => boolean | Promise<boolean>} condition
 */
export async function eventually(what, condition) {
  const end = performance.now() + PATIENCE;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within a minute: ${what}`);
    await pause(20);
  }
}

/**
 * Makes a request that the client has no name for.
 * @param {Server} server
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export async function api(server, path, body) {
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const document = await answer.json();
  if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(document)}`);
  return document;
}
