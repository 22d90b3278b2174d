// The bed of the tests: the real binary, data made through its API, and a real browser.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";

export const browserPath = [process.env.CHROMIUM, "/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => p && existsSync(p));

/** Starts the program on a database; url is that of the API, and token a credential that may do everything. */
export async function serve(database, { args = [] } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-e2e-"));
  const program = process.env.HOLDFAST_BINARY ?? build(dir);
  const token = "e2e-token-of-more-than-twenty-letters";
  database ??= join(dir, "e2e.db");
  const child = spawn(program, ["server", "--listen", "127.0.0.1:0", "--database", database, ...args], {
    cwd: dir, env: { ...process.env, HOLDFAST_TOKEN: token }, stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  const url = await new Promise((found, failed) => {
    const timer = setTimeout(() => failed(new Error("the server does not start: " + said)), 30_000);
    child.stderr.on("data", (data) => {
      said += data;
      const at = /Serving the API on (http:\S+?)\.?\s/.exec(said);
      if (at) {
        clearTimeout(timer);
        found(at[1]);
      }
    });
    child.on("exit", (code) => failed(new Error(`the server has ended with ${code}: ${said}`)));
  });
  return {
    url, token, database, dir,
    log: () => said,
    stop: async () => {
      child.removeAllListeners("exit");
      const ended = new Promise((end) => child.on("exit", end));
      child.kill("SIGTERM");
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The root of the module. */
export const root = new URL("../..", import.meta.url).pathname;

/** Builds a program of ours into a folder. */
export function build(dir, name = "holdfast", of = "./cmd/holdfast") {
  const to = join(dir, name);
  const made = spawnSync("go", ["build", "-o", to, of], { cwd: root, encoding: "utf8", env: { ...process.env, CGO_ENABLED: "0" } });
  if (made.status !== 0) throw new Error("go build: " + made.stderr);
  return to;
}

/** Starts a node in Go on a database, which describes and declares what only code can. It returns what stops it. */
export async function startShop(database, { namespace = "default" } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-shop-"));
  const child = spawn(process.env.HOLDFAST_SHOP ?? build(dir, "shop", "./web/e2e/shop"), [database, namespace], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  await new Promise((serves, failed) => {
    child.stderr.on("data", (data) => (said += data));
    child.stdout.on("data", serves);
    child.on("exit", (code) => failed(new Error(`the shop has ended with ${code}: ${said}`)));
  });
  return async (signal = "SIGTERM") => {
    child.removeAllListeners("exit");
    const ended = new Promise((end) => child.on("exit", end));
    child.kill(signal);
    await ended;
    rmSync(dir, { recursive: true, force: true });
  };
}

export const launch = () =>
  chromium.launch({ executablePath: browserPath, args: [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), "--disable-dev-shm-usage"] });

/** A page that is signed in, and that keeps what went wrong in it. */
export async function open(browser, server, { width = 1280, height = 900, dark = false, token = server.token } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce", baseURL: server.url });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("console", (m) => m.type() === "error" && !/status of (401|404|409|412|422|428)/.test(m.text()) && wrong.push(m.text()));
  if (token) await page.goto("/?token=" + token);
  opened.add(page);
  return { page, wrong, close: () => (opened.delete(page), context.close()) };
}

/** Waits until a page shows what it is about, and reads no more. */
export async function settled(page) {
  await page.waitForSelector("main h1, main .trouble, .sign-in h1");
  await page.waitForFunction(() => !document.querySelector(".skeleton"));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Where pictures of all pages go, and those of tests that fail; "": none are kept. */
const pictures = process.env.HOLDFAST_PICTURES ?? "";
const failures = process.env.HOLDFAST_FAILURES ?? pictures;

export async function picture(page, name, dir = pictures) {
  if (!dir) return;
  mkdirSync(dir, { recursive: true });
  await page.screenshot({ path: join(dir, name + ".png"), fullPage: true });
}

/** The pages that are open. */
const opened = new Set();

/** A test of what is the same whatever the database: it is left out on the second one. */
export function checkOnce(name, run) {
  if (!process.env.HOLDFAST_DATABASE) check(name, run);
}

/** A test that, if it fails, leaves pictures of the pages that it has open. */
export function check(name, run) {
  test(name, async () => {
    try {
      await run();
    } catch (error) {
      for (const page of opened) await picture(page, `failed-${name.replace(/[^a-z0-9]+/gi, "-")}-${[...opened].indexOf(page)}`, failures).catch(() => {});
      throw error;
    } finally {
      for (const page of opened) await page.context().close();
      opened.clear();
    }
  });
}
