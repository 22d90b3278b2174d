// Each page and each action of the dashboard, in a real browser, against the real program with data
// made through the API. HOLDFAST_DATABASE names the database; without it a new SQLite file is made.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { browserPath, check, checkOnce, launch, open, picture, root, serve, settled, startShop } from "./bed.mjs";
import { seed } from "./seed.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let server, data, browser, stopShop;

before(async () => {
  assert.ok(browserPath, "there is no Chromium; install it, or name it in CHROMIUM");
  server = await serve(process.env.HOLDFAST_DATABASE);
  data = await seed(server.url, server.token);
  stopShop = await startShop(server.database);
  data.jobs.refunded = (await data.client.enqueue("fulfil", "order-9", { queue: "readme", key: "order-9" })).id;
  data.jobs.book = (await data.client.enqueue("book", Array(1000).fill(1), { queue: "readme" })).id;
  data.jobs.cart = (await data.client.enqueue("cart", "ann", { queue: "carts" })).id;
  await data.client.job(data.jobs.refunded).signal("approved", false);
  await data.client.job(data.jobs.book).result({ timeout: 60_000 });
  for (let i = 0; i < 200 && (await data.client.job(data.jobs.refunded).get()).state !== "failed"; i++) await new Promise((wake) => setTimeout(wake, 50));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stopShop?.();
  await data?.stop();
  await server?.stop();
});

const pages = () => ({
  overview: "/", jobs: "/jobs", failed: "/jobs?state=failed&sort=finished&q=queue%3Aletters", job: "/jobs/" + data.jobs.ends, waiting: "/jobs/" + data.jobs.waits, retried: "/jobs/" + data.jobs.retries,
  table: `/jobs/${data.jobs.ends}?as=table&history=feed`, opened: `/jobs/${data.jobs.ends}?at=1&history=json`, zoomed: `/jobs/${data.jobs.ends}?zoom=4&idle=show`, payload: `/jobs/${data.jobs.ends}?tab=payload`, attempts: `/jobs/${data.jobs.fails}?tab=attempts`, logs: `/jobs/${data.jobs.ends}?tab=logs`,
  children: `/jobs/${data.jobs.ends}?tab=children`, raw: `/jobs/${data.jobs.ends}?tab=raw`, long: "/jobs/" + data.jobs.long, unserved: "/jobs/" + data.jobs.unserved, payout: "/jobs/" + data.jobs.payout, cart: "/jobs/" + data.jobs.cart, refunded: "/jobs/" + data.jobs.refunded, book: "/jobs/" + data.jobs.book, queues: "/queues", queue: "/queues/letters", schedules: "/schedules", schedule: "/schedules/nightly-report", "new-schedule": "/schedules?new=1",
  limits: "/limits", limit: "/limits/mail-server", batches: "/batches", batch: "/batches/" + data.batch, nodes: "/nodes", dead: "/dead", operations: "/operations", audit: "/audit", keys: "/keys", settings: "/settings", history: "/history", nothing: "/no/such/page", gone: "/jobs/01a20000-0000-7000-8000-000000000000",
});

/** What axe finds on a page. */
async function violations(page, rules) {
  await page.evaluate(axe);
  const found = await page.evaluate((of) => globalThis.axe.run(document, { resultTypes: ["violations"], ...(of && { runOnly: of }) }), rules);
  return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`);
}

const phone = { width: 390, height: 844 };

/** What pages offer to be copied: of each kind, texts and the page that has them. */
const copied = { command: new Map(), curl: new Map(), Go: new Map() };

async function noteCopied(page, path) {
  for (const [name, text] of await page.locator("[data-copy]").evaluateAll((list) => list.map((b) => [b.textContent, b.dataset.copy]))) copied[name]?.set(text, path);
}

/** Opens all pages in a window of a size, in both colours. */
async function lookAtAll(size, o) {
  const { page, wrong, close } = await open(browser, server, o);
  for (const [name, path] of Object.entries(pages())) {
    await page.goto(path);
    await settled(page);
    await looksRight(page, `${name}-${size}`);
    if (isSecond || isWalk) continue;
    if (size === "wide") await noteCopied(page, path);
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, `${name}-${size}-dark`, ["color-contrast"]); // all that the colours change
    await page.emulateMedia({ colorScheme: "light" });
  }
  assert.deepEqual(wrong, []);
  await close();
}

check("all pages, wide and narrow, light and dark: nothing fails, axe finds nothing, nothing is wider than the window", async () => {
  // How pages look does not depend on the database: on the second one they are opened.
  await Promise.all([lookAtAll("wide", {}), !isSecond && !isWalk && lookAtAll("phone", phone)]);
});

/** For each commit all pages are opened once, wide and in light. */
const isWalk = !!process.env.HOLDFAST_WALK;

/** What axe says does not depend on the database: it is asked on the first one. */
const isSecond = !!process.env.HOLDFAST_DATABASE;

async function looksRight(page, name, rules) {
  if (!isSecond) assert.deepEqual(await violations(page, rules), [], name);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${name}: ${over} pixels wider than the window`);
  await picture(page, name);
}

/** A page that is open at a path. */
async function at(path, o) {
  const opened = await open(browser, server, o);
  await opened.page.goto(path);
  await settled(opened.page);
  return opened;
}

const says = (page, text) => page.getByText(text).first().waitFor();
const button = (page, name) => page.getByRole("button", { name, exact: true }).first();
/** Opens a menu, and picks of it. */
async function pick(page, menu, item) {
  await page.locator("summary", { hasText: menu }).first().click();
  await button(page, item).click();
}

checkOnce("what is copied does what it says: commands and curl run, Go is code", async () => {
  const { page, wrong, close } = await at("/");
  await data.client.enqueue("mail", { to: "ann" }, { queue: "it's $HOME", delay: "5h" });
  const all = copied; // of the pages that were looked at before
  const more = { odd: "/queues/" + encodeURIComponent("it's $HOME"), query: "/jobs?q=" + encodeURIComponent(`queue:"it's $HOME" state:scheduled`), node: "/nodes/" + (await data.api("GET", "/nodes?alive=true")).items[0].id };
  for (const path of Object.values(all.command.size > 0 ? more : { ...pages(), ...more })) {
    await page.goto(path);
    await settled(page);
    await noteCopied(page, path);
  }
  assert.ok(all.command.size > 20 && all.curl.size > 20 && all.Go.size > 8, `${all.command.size} commands, ${all.curl.size} of curl, ${all.Go.size} of Go`);
  const dir = mkdtempSync(join(tmpdir(), "holdfast-copied-"));
  const program = process.env.HOLDFAST_BINARY;
  const env = { ...process.env, HOLDFAST_SERVER: server.url, HOLDFAST_TOKEN: server.token, HOME: dir };
  delete env.HOLDFAST_DATABASE;
  const script = ["set -eu", `holdfast() { "${program}" "$@" >/dev/null; }`, `curl() { command curl -fsS -o /dev/null "$@"; }`,
    ...[...all.command, ...(spawnSync("curl", ["--version"]).status === 0 ? all.curl : [])].map(([text, path]) => `${text} || { echo ${JSON.stringify(path)} >&2; false; }`)];
  const ran = program ? spawnSync("bash", ["-c", script.join("\n")], { env, encoding: "utf8", cwd: dir }) : { status: 0 };
  assert.equal(ran.status, 0, ran.stderr);
  const file = join(dir, "main.go");
  writeFileSync(file, goOf([...all.Go.keys()]));
  const vetted = spawnSync("go", ["vet", file], { cwd: root, encoding: "utf8", env: { ...process.env, CGO_ENABLED: "0" } });
  assert.equal(vetted.status, 0, vetted.stderr);
  rmSync(dir, { recursive: true, force: true });
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("an id that is none: there is no such thing, and the way to the list", async () => {
  const { page, wrong, close } = await at("/jobs/17");
  for (const [list, text] of [["jobs", "no such job"], ["batches", "no such batch"], ["operations", "no such operation"], ["dead", "no such group"]]) {
    await page.goto(`/${list}/17`);
    const told = page.locator("main .trouble", { hasText: text });
    await told.waitFor();
    await says(page, "It is not there");
    assert.equal(await button(page, "Try again").count(), 0);
    await told.getByRole("link").click();
    await page.waitForURL(`**/${list}`);
  }
  assert.deepEqual(wrong, []);
  await close();
});

check("sign in and out", async () => {
  const { page, wrong, close } = await open(browser, server, { token: "" });
  await page.goto("/queues");
  await page.getByLabel("Token or API key").fill("wrong-wrong-wrong-wrong");
  await button(page, "Sign in").click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token or API key").fill(server.token);
  await button(page, "Sign in").click();
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  await page.goto("/settings");
  await button(page, "Sign out").click();
  await page.getByLabel("Token or API key").waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("an approval: the run that waits goes on, and the page follows it live", async () => {
  const id = (await data.client.enqueue("order", { id: 9, cents: 5 }, { queue: "orders" })).id;
  const { page, wrong, close } = await at("/jobs/" + id);
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await says(page, "The signal approved is sent");
  await page.locator("h1 .state.completed").waitFor();
  await page.getByRole("button", { name: /^say thanks done/ }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("a signal by its form; wrong JSON is told, and nothing is sent", async () => {
  const id = (await data.client.enqueue("order", { id: 10, cents: 5 }, { queue: "orders" })).id;
  const { page, close } = await at("/jobs/" + id);
  await button(page, "Answer approved…").click();
  await page.getByLabel("Payload, as JSON").fill("{oops");
  await button(page, "Send").click();
  await says(page, "That is no JSON");
  await page.getByLabel("Payload, as JSON").fill('{"by":"eve"}');
  await button(page, "Send").click();
  await page.locator("h1 .state.completed").waitFor();
  assert.equal((await data.client.job(id).get()).state, "completed");
  await close();
});

check("a callback is completed in place of the system outside", async () => {
  const { page, wrong, close } = await at("/jobs/" + data.jobs.payout);
  await says(page, "It waits for bank");
  await button(page, "Complete bank…").click();
  await page.getByLabel("Payload, as JSON").fill('{"paid":true}');
  await button(page, "Complete").click();
  await says(page, "The callback bank is answered");
  const messages = await data.api("GET", `/jobs/${data.jobs.payout}/messages`);
  assert.deepEqual(messages.items.map((m) => [m.kind, m.data]), [["callback", { paid: true }]]);
  assert.deepEqual(wrong, []);
  await close();
});

check("a job: pause, resume, edit, cancel, retry, copy, delete", async () => {
  const { page, wrong, close } = await at("/jobs");
  await button(page, "Enqueue a job").click();
  await page.getByRole("dialog").getByLabel("Kind", { exact: true }).fill("later");
  await page.getByLabel("Args, as JSON").fill('{"n":1234567890123456789}');
  await page.getByLabel("Not before").fill("3h");
  await button(page, "Enqueue").click();
  await page.locator("h1 .state.scheduled").waitFor();
  const id = new URL(page.url()).pathname.split("/").pop();
  await page.getByRole("link", { name: "Input and output" }).click();
  await says(page, "1234567890123456789");
  await button(page, "Pause").click();
  await page.getByLabel("Reason, which is recorded").fill("wait for it");
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await button(page, "Resume").click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await button(page, "Pause").waitFor();
  await pick(page, "More", "Edit…");
  await page.getByLabel("Queue", { exact: true }).fill("elsewhere");
  await button(page, "Save").click();
  await page.getByRole("link", { name: "elsewhere" }).waitFor();
  await button(page, "Cancel").click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).last().click();
  await page.locator("h1 .state.cancelled").waitFor();
  await button(page, "Retry").click();
  await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
  await page.locator("h1 .state.available").waitFor();
  await button(page, "Cancel").click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).last().click();
  await page.locator("h1 .state.cancelled").waitFor();
  await pick(page, "More", "Delete…");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  assert.deepEqual(wrong, []);
  const gone = await fetch(`${server.url}/api/v1/jobs/${id}`, { headers: { Authorization: "Bearer " + server.token } });
  assert.equal(gone.status, 404);
  await close();
});

check("many jobs: those selected, and all that a query selects, after a preview", async () => {
  for (let i = 0; i < 5; i++) await data.client.enqueue("many", { i }, { queue: "many", delay: "5h" });
  const { page, wrong, close } = await at("/jobs?q=queue%3Amany");
  const rows = page.locator("tbody tr");
  await rows.nth(0).getByRole("checkbox").check();
  await rows.nth(2).getByRole("checkbox").click({ modifiers: ["Shift"] });
  await says(page, "3 selected; updates are paused");
  await button(page, "Pause").click();
  await page.getByRole("dialog").getByRole("heading", { name: "Pause 3 jobs" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.locator("h1 .state.completed").waitFor();
  await page.goto("/jobs?q=queue%3Amany");
  await settled(page);
  await page.getByLabel("All that the query selects").check();
  await button(page, "Cancel").click();
  await page.getByRole("dialog").getByRole("heading", { name: "Cancel 5 jobs" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).last().click();
  await page.locator("h1 .state.completed").waitFor();
  await page.goto("/jobs?state=cancelled&q=queue%3Amany");
  await page.locator("tbody tr").nth(4).waitFor();
  assert.equal(await page.locator("tbody tr").count(), 5);
  assert.deepEqual(wrong, []);
  await close();
});

check("what changes while rows are selected is there once they are not", async () => {
  const job = await data.client.enqueue("held", {}, { queue: "held", delay: "5h" });
  const { page, wrong, close } = await at("/jobs?q=queue%3Aheld");
  await page.locator("tbody tr").getByRole("checkbox").check();
  await says(page, "updates are paused");
  await data.client.job(job.id).cancel("while nobody looks");
  await page.waitForTimeout(1500); // an update would have come by now
  assert.equal(await page.locator("tbody .state.scheduled").count(), 1);
  await button(page, "Clear").click();
  await page.locator("tbody .state.cancelled").waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("nothing moves under the pointer: new rows wait until they are asked for, and those in sight stay true", async () => {
  const one = await data.client.enqueue("still", { n: 1 }, { queue: "still", delay: "5h" });
  const { page, wrong, close } = await at("/jobs?q=queue%3Astill%20state%3Ascheduled");
  const ids = () => page.locator("tbody tr").evaluateAll((rows) => rows.map((r) => r.dataset.row));
  assert.deepEqual(await ids(), [one.id]);
  await page.locator("tbody tr").first().hover();
  const two = await data.client.enqueue("still", { n: 2 }, { queue: "still", delay: "5h" });
  await button(page, "1 new: show").waitFor();
  assert.deepEqual(await ids(), [one.id]);
  await data.client.job(one.id).cancel("it is not of the list any more");
  await page.locator("tbody tr.gone .state.cancelled").waitFor(); // it stays, and is true
  await button(page, "1 new: show").click();
  await page.locator(`tr[data-row="${two.id}"]`).waitFor();
  assert.deepEqual(await ids(), [two.id]);
  await page.locator("h1").hover();
  const three = await data.client.enqueue("still", { n: 3 }, { queue: "still", delay: "5h" });
  await page.locator(`tr[data-row="${three.id}"]`).waitFor(); // nobody points at a row
  await page.locator("body").press("j");
  await page.locator(`tr.current[data-row="${three.id}"]`).waitFor();
  await data.client.enqueue("still", { n: 4 }, { queue: "still", delay: "5h" });
  await button(page, "1 new: show").waitFor();
  await page.locator("body").press("Enter");
  await page.waitForURL("**/jobs/" + three.id); // the row that was gone to, wherever it stands
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("views and columns are those of a person, and stay", async () => {
  const { page, wrong, close } = await at("/jobs?state=failed&q=queue%3Aletters&sort=finished");
  const headings = () => page.locator("main th").allInnerTexts();
  await pick(page, "Views", "Save this view…");
  await page.getByLabel("Name", { exact: true }).fill("lost letters");
  await button(page, "Save").click();
  await says(page, "The view lost letters is saved");
  await page.locator("summary", { hasText: "Columns" }).click();
  await page.getByLabel("Queue", { exact: true }).uncheck();
  await page.getByLabel("Priority", { exact: true }).check();
  await button(page, "Move State to the front").click();
  await page.keyboard.press("Escape");
  const names = (await headings()).filter(Boolean).map((n) => n.trim());
  assert.ok(names.includes("Priority") && !names.includes("Queue") && names.indexOf("State") < names.indexOf("ID"), names.join());
  await page.goto("/jobs");
  await settled(page);
  assert.deepEqual((await headings()).filter(Boolean).map((n) => n.trim()), names);
  await pick(page, "Views", "lost letters");
  await page.waitForURL(/state=failed/);
  assert.equal(new URL(page.url()).searchParams.get("q"), "queue:letters");
  await pick(page, "Views", "Forget the view lost letters");
  await page.locator("summary", { hasText: "Columns" }).click();
  await button(page, "As they were").click();
  await page.getByRole("columnheader", { name: "Queue" }).waitFor();
  await page.keyboard.press("Escape");
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("a history is downloaded, and opened from its file; one that is none says why", async () => {
  const { page, wrong, close } = await at("/jobs/" + data.jobs.ends);
  const comes = page.waitForEvent("download");
  await button(page, "Download").click();
  const file = await (await comes).path();
  const journal = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(journal.job, data.jobs.ends);
  assert.deepEqual(journal.entries.slice(0, 2).map((e) => [e.seq, e.kind, e.name, typeof e.took_ns]), [[1, "step", "charge", "number"], [2, "step", "reserve", "number"]]);
  await page.goto("/history");
  await page.getByLabel("File").setInputFiles(file);
  await says(page, data.jobs.ends);
  await page.getByRole("button", { name: /^charge done/ }).click();
  await page.getByRole("heading", { name: "charge" }).waitFor();
  await page.getByLabel("File").setInputFiles({ name: "exact.json", mimeType: "application/json", buffer: Buffer.from('{"entries":[{"kind":"step","name":"sum","path":"1","at":"2026-11-28T12:00:00Z","data":12345678901234567890}]}') });
  await says(page, "12345678901234567890");
  await page.getByLabel("File").setInputFiles({ name: "mail.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
  await says(page, "That is no JSON");
  assert.deepEqual(wrong, []);
  await close();
});

check("a limit: what runs under it, what is due, and of which key", async () => {
  await data.api("PUT", "/limits/shut", { capacity: 0, queues: ["shut"], kinds: { "held-back": 1, other: 1 } });
  await data.api("PUT", "/limits/each", { capacity: 0, per_key: true });
  const one = await data.client.enqueue("held-back", {}, { queue: "shut" });
  const of = await data.api("POST", "/jobs", { kind: "of-key", queue: "keyed", limit: "each", limit_key: "acme" });
  const { page, wrong, close } = await at("/limits/shut");
  await page.getByRole("region", { name: "What is due, and not started" }).locator(`tr[data-row="${one.id}"]`).waitFor();
  await says(page, "No job that it counts runs");
  await page.goto("/limits/each");
  await page.getByRole("region", { name: "What is due, and not started" }).locator(`tr[data-row="${of.id}"]`).getByRole("cell", { name: "acme" }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("a batch: its jobs are cancelled; a job enqueued by hand has its attempts, and a wrong field is told by its label", async () => {
  const { page, wrong, close } = await at("/batches/" + data.batch);
  await button(page, "Cancel its jobs…").click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel them" }).click();
  await says(page, "Its jobs are cancelled");
  await page.locator("h1 .state.done").waitFor();
  assert.equal((await data.api("GET", "/batches/" + data.batch)).cancelled, "2");
  await page.goto("/jobs");
  await button(page, "Enqueue a job").click();
  await page.getByRole("dialog").getByLabel("Kind", { exact: true }).fill("by-hand");
  await page.getByLabel("Attempts at most").fill("3");
  await page.getByLabel("Not before").fill("soon");
  await button(page, "Enqueue").click();
  await page.getByRole("alert").getByText("Not before:").waitFor();
  await page.getByLabel("Not before").fill("9h");
  await button(page, "Enqueue").click();
  await page.locator("h1 .state.scheduled").waitFor();
  assert.equal((await data.api("GET", "/jobs?kind=by-hand")).items[0].max_attempts, 3);
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("a schedule: its preview with H is what it becomes; as code declares again", async () => {
  const { page, wrong, close } = await at("/schedules?new=1");
  await page.getByLabel("Name", { exact: true }).fill("büro");
  await page.getByLabel("Cron").first().fill("H H * * *");
  await page.getByLabel("Kind", { exact: true }).fill("report");
  const { words } = await data.api("POST", "/schedules/preview", { name: "büro", cron: "H H * * *", tz: "UTC" });
  await page.getByLabel("Time zone").fill("UTC");
  await page.locator("strong", { hasText: words }).waitFor();
  await button(page, "Create").click();
  await page.getByRole("heading", { name: /büro/ }).waitFor();
  await page.getByText(words).first().waitFor();
  await page.goto("/schedules/stocktake");
  await button(page, "Change…").click();
  assert.equal(await page.getByLabel("Cron").inputValue(), "30 6 * * 1");
  await page.getByLabel("Time zone").fill("Europe/Berlin"); // with which the expression goes
  await button(page, "Save").click();
  await page.getByText(/in Europe\/Berlin/).first().waitFor();
  await button(page, "Reset to code").click();
  await says(page, "It is as code declares");
  assert.match((await data.api("GET", "/schedules/stocktake")).times, /^cron 30 6 \* \* 1 zone=UTC$/);
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("a word alone finds what has that name; what is written comes before the tab", async () => {
  const { page, wrong, close } = await at("/jobs?state=running");
  await page.locator("#query").fill("flaky");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=kind%3Aflaky/);
  await page.locator("#query").fill("kind:flaky state:completed");
  await page.keyboard.press("Enter");
  await page.locator("tbody .state.completed").waitFor();
  await page.locator(".tabs a[aria-current]", { hasText: "completed" }).waitFor();
  await page.getByRole("navigation", { name: "States" }).getByRole("link", { name: /^waiting/ }).click();
  await page.waitForURL((url) => url.searchParams.get("q") === "kind:flaky" && url.searchParams.get("state") === "waiting");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).fill("shop-1");
  await page.getByRole("option", { name: "Node shop-1", exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /shop-1/ }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).fill("urgent");
  await page.getByRole("option", { name: "Jobs with the tag urgent" }).waitFor(); // once nothing else is known of that name
  await page.keyboard.press("Enter");
  await page.locator(`tr[data-row="${data.jobs.waits}"]`).waitFor(); // its tag
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).fill("state:failed kind:mail");
  await page.getByRole("option", { name: "Jobs that are state:failed kind:mail" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("q") === "state:failed kind:mail");
  assert.deepEqual(wrong, []);
  await close();
});

check("what a run was sent, and who is to answer it, can be seen; an attempt that failed is not an error of what completed", async () => {
  const { page, wrong, close } = await at("/jobs/" + data.jobs.ends);
  await page.getByRole("region", { name: "What was sent to it" }).getByText('{"by":"ann"}').waitFor();
  await page.getByRole("region", { name: "History" }).getByRole("row", { name: /received approved/ }).getByText('{"by":"ann"}').waitFor();
  await page.locator(".lane", { hasText: "approved" }).getByRole("button").first().click();
  await page.getByRole("region", { name: "Details of approved" }).getByText('"ann"').waitFor();
  await button(page, "Fork from here…").click();
  assert.equal(await page.getByLabel("From the place").inputValue(), "4");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  const flaky = await data.client.enqueue("once-flaky", {}, { queue: "orders" });
  await page.goto("/jobs/" + flaky.id);
  await page.locator("h1 .state.completed").waitFor();
  assert.equal(await page.locator(".notes .note, .notes .trouble").count(), 0);
  await page.getByRole("link", { name: "Attempts" }).click();
  const first = page.locator("details", { hasText: /Attempt 1 .*retryable/ }); // it may have been claimed before, and released
  await first.waitFor();
  await first.evaluate((d) => (d.open = true)); // a slow worker may have lost another one since: the last is open
  await says(page, "the first one fails");
  await page.goto("/jobs/" + data.jobs.fails); // opens with what a person wants to see
  await page.locator("details[open] pre").first().getByText("no such mailbox").waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("the way back leads to where the list was left", async () => {
  const { page, wrong, close } = await at("/jobs?size=200");
  await page.evaluate(() => scrollTo(0, 700));
  await page.locator("tbody tr").nth(25).getByRole("link").first().click();
  await page.waitForURL(/jobs\/[0-9a-f-]{36}/);
  await settled(page);
  assert.equal(await page.evaluate(() => scrollY), 0);
  await page.goBack();
  await page.waitForFunction(() => Math.abs(scrollY - 700) < 2);
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("long names leave room for the rest of a table", async () => {
  const queue = "long-" + "q".repeat(180);
  await data.client.enqueue("k".repeat(150), {}, { queue, delay: "9h" });
  const { page, wrong, close } = await at("/queues");
  for (const path of ["/queues", "/", "/jobs?q=" + encodeURIComponent("queue:" + queue)]) {
    await page.goto(path);
    await settled(page);
    const over = await page.locator("main .table").evaluateAll((all) => all.filter((t) => t.scrollWidth > t.clientWidth).map((t) => t.getAttribute("aria-label")));
    assert.deepEqual(over, [], path);
  }
  await data.api("POST", `/queues/${queue}/drain`, {});
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("a node that leads is of the whole database; one that died is told of", async () => {
  const { page, wrong, close } = await at("/?namespace=elsewhere");
  const needs = page.getByRole("region", { name: "Needs attention" });
  const worker = await data.api("POST", "/workers?namespace=elsewhere", { name: "mortal", kinds: ["x"], slots: 1 });
  await needs.getByText("leader of another namespace").waitFor();
  assert.equal(await needs.getByText("No node leads").count(), 0);
  await data.api("POST", `/workers/${worker.worker}/leave`);
  const killed = await startShop(server.database, { namespace: "elsewhere" });
  await killed("SIGKILL"); // it does not leave
  await needs.getByText(/^Node .* died .* ago; what it ran is run by others$/).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("a job that no node runs is told of, with its kind", async () => {
  for (const [queue, minutes] of [["older", 60], ["old", 2]]) { // each queue is told of, not just the one that waits longest
    await data.api("POST", "/jobs", { kind: "legacy.export", queue, run_at: new Date(Date.now() - minutes * 60_000).toISOString() });
  }
  const { page, wrong, close } = await at("/");
  await page.getByRole("region", { name: "Needs attention" }).getByRole("link", { name: "No node runs jobs of legacy.export, and queue old has due ones" }).click();
  await page.getByRole("heading", { name: /^old/ }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("who has no stream asks again once updates go on", async () => {
  const key = await data.api("POST", "/keys", { name: "asker", scopes: ["jobs:read"], namespace: "default" });
  const own = await serve(server.database, { args: ["--auth", "keys"] });
  const { page, close } = await open(browser, own, { token: key.secret });
  await page.goto("/jobs?q=queue%3Aasked");
  await settled(page);
  await page.locator("button.live.asking").click();
  await page.locator("button.live.paused").waitFor();
  await data.client.enqueue("asked", {}, { queue: "asked", delay: "5h" });
  await page.locator("button.live.paused").click();
  await page.locator("tbody .state.scheduled").waitFor();
  await close();
  await own.stop();
});

check("queues: pause, settings, a limit", async () => {
  const { page, wrong, close } = await at("/queues/reports");
  await button(page, "Pause").click();
  await page.locator("h1 .state.paused").waitFor();
  await button(page, "Resume").click();
  await page.locator("h1 .state.ok").waitFor();
  await button(page, "Settings…").click();
  await page.getByLabel("Attempts at most").fill("7");
  await page.getByLabel("Backoff: first").fill("5s");
  await page.getByLabel("Backoff: at most").fill("1h");
  await button(page, "Save").click();
  await says(page, "The settings are saved");
  await button(page, "Limit…").click();
  await page.getByLabel("Jobs at once").fill("2");
  await button(page, "Save").click();
  await says(page, "The limit is set");
  const q = await data.api("GET", "/queues/reports");
  assert.equal(q.attempts.max_attempts, 7);
  assert.equal(q.limit.capacity, 2);
  assert.deepEqual(wrong, []);
  await close();
});

check("an answer that is lost: what is done again is done once", async () => {
  const { page, close } = await at("/schedules/heartbeat");
  const lose = (path) => {
    let left = 1; // lists are read meanwhile, from the same path
    return page.route(path, async (route) => {
      if (route.request().method() === "GET" || left-- <= 0) return route.fallback();
      await route.fetch();
      await route.abort();
    });
  };
  const fired = async () => Number((await data.api("GET", "/schedules/heartbeat")).fired);
  const before = await fired();
  await lose("**/schedules/heartbeat/trigger?*");
  await button(page, "Trigger now").click();
  await says(page, "the server does not answer");
  await page.getByRole("button", { name: "Trigger now", disabled: false }).click();
  await says(page, "has fired");
  assert.equal(await fired(), before + 1);

  await page.goto("/jobs");
  await button(page, "Enqueue a job").click();
  await page.getByRole("dialog").getByLabel("Kind", { exact: true }).fill("lost-once");
  await page.getByLabel("Not before").fill("9h");
  await lose("**/api/v1/jobs?*");
  await button(page, "Enqueue").click();
  await page.getByRole("dialog").getByText("the server does not answer").waitFor();
  await button(page, "Enqueue").click();
  await page.locator("h1 .state.scheduled").waitFor();
  assert.equal((await data.api("GET", "/jobs?q=kind%3Alost-once")).items.length, 1);
  await close();
});

check("queues: many at once", async () => {
  const { page, wrong, close } = await at("/queues");
  for (const name of ["letters", "batch"]) await page.getByRole("checkbox", { name: "Select " + name }).check();
  await says(page, "2 selected; updates are paused");
  await page.getByRole("toolbar").getByRole("button", { name: "Pause", exact: true }).click();
  await says(page, "2 queues paused");
  for (const name of ["letters", "batch"]) assert.equal((await data.api("GET", "/queues/" + name)).paused, true);
  for (const name of ["letters", "batch"]) await page.getByRole("checkbox", { name: "Select " + name }).check();
  await page.getByRole("toolbar").getByRole("button", { name: "Resume", exact: true }).click();
  await says(page, "2 queues resumed");
  for (const name of ["letters", "batch"]) assert.equal((await data.api("GET", "/queues/" + name)).paused, false);
  assert.deepEqual(wrong, []);
  await close();
});

check("schedules: a new one with its next times, trigger, pause, delete", async () => {
  const { page, wrong, close } = await at("/schedules?new=1");
  await page.getByLabel("Name", { exact: true }).fill("weekly");
  await page.getByLabel("Kind", { exact: true }).fill("report");
  await page.getByLabel("Cron", { exact: false }).first().fill("99 * * * *");
  await page.locator("p.bad").waitFor();
  await page.getByLabel("Cron", { exact: false }).first().fill("0 8 * * 1");
  await says(page, /every Monday|on Monday|Monday/);
  await button(page, "Create").click();
  await page.getByRole("heading", { name: "weekly" }).waitFor();
  await button(page, "Trigger now").click();
  await says(page, "has fired");
  await button(page, "Pause…").click();
  await page.getByLabel("Why, for others").fill("holidays");
  await button(page, "Pause").click();
  await says(page, "holidays");
  await button(page, "Resume").click();
  await button(page, "Pause…").waitFor();
  await pick(page, "More", "Delete…");
  await button(page, "Delete").click();
  await page.getByRole("heading", { name: "Schedules" }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("limits, dead letters, nodes, keys, audit", async () => {
  const { page, wrong, close } = await at("/limits");
  await button(page, "New limit…").click();
  await page.getByLabel("Name", { exact: true }).fill("sms");
  await page.getByLabel("Jobs at once").fill("4");
  await page.getByLabel("Rate").fill("5/s");
  await button(page, "Save").click();
  await page.getByRole("link", { name: "sms" }).click();
  await button(page, "Drain…").click();
  await button(page, "Drain").click();
  await says(page, "Drained until");
  await button(page, "Resume").click();
  await button(page, "Delete…").click();
  await button(page, "Delete").click();
  await page.getByRole("heading", { name: "Limits" }).waitFor();

  await page.goto("/dead");
  await settled(page);
  await page.getByRole("link", { name: "mail" }).first().click();
  await page.getByRole("heading", { name: /mail/ }).waitFor();
  await button(page, "Purge…").click();
  await page.getByRole("dialog").getByRole("textbox").last().fill("4");
  await button(page, "Purge").click();
  await says(page, "4 jobs are done");

  await page.goto("/nodes");
  await settled(page);
  const node = page.locator("tr", { hasText: "shop-1" });
  await node.getByRole("button", { name: "Quiet" }).click();
  await node.locator(".state.quiet").waitFor();
  await node.getByRole("button", { name: "Resume" }).click();
  await node.locator(".state.ok").waitFor();

  await page.goto("/keys");
  await settled(page);
  await button(page, "New key…").click();
  await page.getByRole("dialog").getByRole("textbox").first().fill("robot");
  await button(page, "Create").click();
  await says(page, "The secret of robot");
  await button(page, "I have it").click();
  await page.locator("tr", { hasText: "robot" }).getByRole("button", { name: "Revoke…" }).click();
  await button(page, "Revoke").click();
  await page.locator("tr", { hasText: "robot" }).getByText("revoked").waitFor();

  await button(page, "New key…").click();
  await page.getByRole("dialog").getByRole("textbox").first().fill("reader");
  await page.getByLabel("Or these scopes").fill("jobs:read, queues:read");
  await button(page, "Create").click();
  await says(page, "The secret of reader");
  const made = (await data.api("GET", "/keys")).items.find((k) => k.name === "reader");
  assert.deepEqual(made.scopes, ["jobs:read", "queues:read"]);

  await page.goto("/audit");
  await settled(page);
  await page.getByLabel("Of", { exact: true }).fill("limit");
  await page.keyboard.press("Enter");
  await page.waitForURL(/kind=limit/);
  await says(page, "sms");
  assert.deepEqual(wrong, []);
  await close();
});

check("charts have the sums of what the counts tell apart", async () => {
  const sums = async (more = "") => {
    const { items } = await data.api("GET", `/stats/jobs?step=1m&since=${new Date(Date.now() - 3_000_000).toISOString()}${more}`);
    const of = {};
    for (const p of items) of[p.at] = (of[p.at] ?? 0) + Number(p.completed);
    return Math.max(0, ...Object.values(of));
  };
  for (let i = 0; i < 200 && (await sums("&queue=letters")) < 30; i++) await new Promise((wake) => setTimeout(wake, 100)); // nodes write counts every few seconds
  const { page, wrong, close } = await at("/");
  const most = async () => Number(/completed at most ([\d,]+)/.exec(await page.getByRole("img", { name: /^Ended a minute/ }).getAttribute("aria-label"))[1].replaceAll(",", ""));
  for (const [path, more] of [["/", ""], ["/queues/letters", "&queue=letters"]]) {
    await page.goto(path);
    await settled(page);
    const [before, shown, after] = [await sums(more), await most(), await sums(more)];
    assert.ok(shown >= 30 && before <= shown && shown <= after, `${path}: ${before} <= ${shown} <= ${after}`);
  }
  await page.goto("/queues");
  await page.locator("tr", { hasText: "letters" }).getByRole("img", { name: /\d+ ended in the last hour, [1-9]\d* of them failed/ }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("keys of the keyboard, the palette, and the URL as the state", async () => {
  const { page, wrong, close } = await at("/");
  await page.locator("body").press("g");
  await page.locator("body").press("q");
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  await page.locator("body").press("/");
  await page.waitForFunction(() => document.activeElement?.id === "query");
  await page.keyboard.type("queue:letters state:completed");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URL(location.href).searchParams.get("q") === "queue:letters state:completed");
  await settled(page);
  await page.reload();
  await settled(page);
  assert.equal(await page.locator("#query").inputValue(), "queue:letters state:completed");
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("nightly");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "nightly-report" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("a job: sooner, a signal by its name, a copy, a fork, an end, and its turn for the next", async () => {
  const { page, wrong, close } = await at("/jobs");
  const later = await data.client.enqueue("mail", { to: "ann" }, { queue: "letters", delay: "4h" });
  await page.goto("/jobs/" + later.id);
  await button(page, "Run now").click();
  await page.locator("h1 .state.completed").waitFor();
  const fails = await data.api("POST", "/jobs", { kind: "unlucky", queue: "orders", backoff: { base: "2h", cap: "2h" } });
  await page.goto("/jobs/" + fails.id);
  await page.locator("h1 .state.retryable").waitFor();
  await button(page, "Retry now").click();
  await says(page, "attempt 2: retryable");

  const waits = (await data.client.enqueue("order", { id: 12, cents: 1 }, { queue: "orders" })).id;
  await page.goto("/jobs/" + waits);
  await button(page, "Answer approved…").waitFor();
  await button(page, "Send a signal").click();
  await page.getByLabel("Signal", { exact: true }).fill("weather");
  await button(page, "Send").click();
  await says(page, "The signal weather is sent");
  await pick(page, "More", "Fork…");
  await page.getByLabel("From the place").fill("2");
  await button(page, "Fork").click();
  await page.waitForURL((u) => !u.pathname.endsWith(waits));
  await button(page, "Answer approved…").waitFor(); // the fork goes its own way
  await pick(page, "More", "Terminate…");
  await page.getByRole("dialog").getByRole("button", { name: "Terminate" }).click();
  await page.locator("h1 .state.cancelled").waitFor();
  assert.equal((await data.client.job(waits).get()).state, "waiting");
  await pick(page, "More", "Enqueue a copy…");
  await page.getByLabel("Not before").fill("9h");
  await button(page, "Enqueue").click();
  await page.locator("h1 .state.scheduled").waitFor();
  await page.getByRole("link", { name: "Input and output" }).click();
  await says(page, '"cents": 1');

  const first = await data.api("POST", "/jobs", { kind: "mail", queue: "letters", args: { to: "nobody" }, ordering_key: "ann", keep_turn: true });
  const next = await data.api("POST", "/jobs", { kind: "mail", queue: "letters", args: { to: "ann" }, ordering_key: "ann" });
  await page.goto("/jobs/" + first.id);
  await page.locator("h1 .state.failed").waitFor();
  await pick(page, "More", "Skip…");
  await page.getByRole("dialog").getByRole("button", { name: "Let the next of its key go on" }).click();
  await page.goto("/jobs/" + next.id);
  await page.locator("h1 .state.completed").waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("a request to a run is answered, or refused; a callback is let fail", async () => {
  const { page, wrong, close } = await at("/jobs/" + data.jobs.cart);
  const ask = async (payload) => {
    await button(page, "Make a request…").click();
    await page.getByLabel("Payload, as JSON").fill(payload);
    await button(page, "Send").click();
  };
  await ask("250");
  await says(page, "It answered 250");
  await ask("-1");
  await says(page, "that is no price: -1 cents");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.goto("/queues/carts");
  await says(page, "Carts of customers.");
  await page.goto("/jobs/" + (await data.callback()));
  await button(page, "Let bank fail…").click();
  await page.getByLabel("Why", { exact: true }).fill("no such account");
  await button(page, "Let it fail").click();
  await says(page, "The callback bank is answered");
  assert.deepEqual(wrong, []);
  await close();
});

check("many jobs: retry, resume, move, delete; an operation is stopped", async () => {
  for (let i = 0; i < 3; i++) await data.client.enqueue("crowd", { i }, { queue: "crowd", delay: "5h" });
  const { page, wrong, close } = await at("/jobs");
  const all = async (verb, fill) => {
    await page.goto("/jobs?q=kind%3Acrowd");
    await settled(page);
    await page.getByLabel("All that the query selects").check();
    await page.getByRole("toolbar").getByRole("button", { name: verb, exact: true }).click();
    await page.getByRole("dialog").getByRole("heading", { name: `${verb} 3 jobs` }).waitFor();
    await fill?.();
    await page.getByRole("dialog").getByRole("button", { name: verb }).last().click();
    await page.locator("h1 .state.completed").waitFor();
  };
  const states = async () => (await data.api("GET", "/jobs?q=kind%3Acrowd")).items.map((j) => [j.state, j.queue].join(" "));
  await all("Pause");
  await all("Resume");
  assert.deepEqual(await states(), Array(3).fill("scheduled crowd"));
  await all("Move", () => page.getByLabel("To the queue").fill("elsewhere"));
  assert.deepEqual(await states(), Array(3).fill("scheduled elsewhere"));
  await all("Cancel");
  await all("Retry");
  assert.deepEqual(await states(), Array(3).fill("available elsewhere"));
  await all("Cancel");
  await all("Delete");
  assert.deepEqual(await states(), []);

  await data.api("POST", "/queues/holdfast/pause");
  const { operation } = await data.api("POST", "/operations", { action: "pause", filter: { q: "kind:report" } });
  await page.goto("/operations/" + operation.id);
  await button(page, "Stop").click();
  await says(page, "It stops after the piece that is under way");
  await data.api("POST", "/queues/holdfast/resume");
  await page.locator("h1 .state.cancelled").waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("queues: a rest, all cancelled, deleted; limits: changed, and as code declares again", async () => {
  for (let i = 0; i < 3; i++) await data.client.enqueue("crowd", { i }, { queue: "old one", delay: "5h" });
  const { page, wrong, close } = await at("/queues/old%20one");
  await pick(page, "More", "Rest…");
  await button(page, "Rest").click();
  await says(page, /rests \d/);
  await pick(page, "More", "Cancel all jobs…");
  await page.getByLabel("Type old one to go on").fill("old one");
  await button(page, "Cancel them").click();
  await page.locator("h1 .state.completed").waitFor();
  await page.goto("/jobs?q=queue%3A%22old%20one%22");
  await settled(page);
  await page.getByLabel("All that the query selects").check();
  await button(page, "Delete").click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.locator("h1 .state.completed").waitFor();
  await page.goto("/queues/old%20one");
  await pick(page, "More", "Delete…");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Queues" }).waitFor();

  await page.goto("/limits/vans");
  await button(page, "Change…").click();
  await page.getByLabel("Jobs at once").fill("9");
  await button(page, "Save").click();
  await says(page, "Limit vans is set");
  await button(page, "Reset to code").click();
  await says(page, "It is as code declares");
  assert.equal((await data.api("GET", "/limits/vans")).capacity, 2);
  assert.deepEqual(wrong, []);
  await close();
});

check("schedules: a change, a backfill; dead letters: redriven, moved; a node is drained", async () => {
  const { page, wrong, close } = await at("/schedules/nightly-report");
  await button(page, "Change…").click();
  await page.getByLabel("Cron").fill("45 4 * * *");
  await page.getByLabel("Time zone").fill("Europe/Berlin");
  await button(page, "Save").click();
  await says(page, "It is changed");
  await page.getByText("04:45").first().waitFor();
  await pick(page, "More", "Backfill…");
  await page.getByLabel("From").fill("2026-11-01T00:00:00");
  await page.getByLabel("To, in").fill("2026-11-04T00:00:00");
  await button(page, "Count").click();
  await page.getByRole("dialog").getByRole("heading", { name: "Enqueue 3 jobs" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Enqueue" }).click();
  await says(page, "3 jobs are enqueued");

  for (let i = 0; i < 2; i++) await data.api("POST", "/jobs", { kind: "parcel", queue: "letters", args: { i } });
  const fail = async (queue) => {
    for (let i = 0; i < 200 && (await data.api("GET", `/jobs?kind=parcel&state=failed&queue=${queue}`)).items.length < 2; i++) await page.waitForTimeout(50);
  };
  await fail("letters");
  await page.goto("/dead");
  await settled(page);
  await page.getByLabel("Kind", { exact: true }).fill("parcel");
  await page.keyboard.press("Enter");
  await page.waitForURL(/kind=parcel/);
  await page.locator("tbody tr").first().getByText("parcel").waitFor();
  await page.getByRole("link", { name: "parcel" }).first().click();
  await page.getByRole("heading", { name: /parcel/ }).waitFor();
  await button(page, "Move…").click();
  await page.getByLabel("To the queue").fill("lost");
  await page.getByRole("dialog").getByRole("button", { name: "Move" }).click();
  await says(page, "2 jobs are done");
  await fail("lost"); // they run there, and fail again
  await page.reload();
  await button(page, "Redrive…").click();
  await page.getByLabel("With these args, as JSON").fill('{"right":true}');
  const redriven = page.waitForResponse((r) => r.url().includes("/dead/redrive") && r.request().method() === "POST");
  await page.getByRole("dialog").getByRole("button", { name: "Redrive" }).click();
  assert.equal((await (await redriven).json()).done, 2);
  const parcels = (await data.api("GET", "/jobs?q=kind%3Aparcel")).items;
  assert.deepEqual(parcels.map((j) => j.queue), ["lost", "lost"]);
  assert.deepEqual((await data.api("GET", "/jobs/" + parcels[0].id)).args, { right: true });

  await page.goto("/dead/0000000000000017"); // a group of no jobs: there is nothing to change
  await page.getByText("There are none any more").waitFor();
  assert.equal(await page.getByRole("button", { name: /Redrive|Move|Purge/ }).count(), 0);

  const { worker } = await data.api("POST", "/workers", { name: "drained-1", kinds: ["nothing"], slots: 1 });
  await page.goto("/nodes");
  await page.getByRole("link", { name: "drained-1" }).click();
  await button(page, "Drain…").click();
  await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click();
  await says(page, "drained-1 ends what it runs, and leaves");
  await page.locator("h1 .state.draining").waitFor();
  await data.api("POST", `/workers/${worker}/leave`);
  assert.deepEqual(wrong, []);
  await close();
});

/** A program of pieces of code, each in a function of its own that uses what it declares. */
function goOf(pieces) {
  const used = (text) => [...new Set([...text.matchAll(/(\w+), err :=/g)].map((m) => m[1]))].map((v) => `_ = ${v}`).join("\n");
  const body = pieces.map((p, i) => `func piece${i}(ctx context.Context, hf *holdfast.Client) {\n${p}\n_ = err\n${used(p)}\n}`).join("\n");
  const ours = (name) => `"github.com/holdfastdev/holdfast${name}"`;
  const known = Object.fromEntries(["apikey", "audit", "dead", "limit", "operation", "schedule", "store"].map((name) => [name, ours("/" + name)]));
  const imports = [ours(""), ...Object.entries({ ...known, uuid: '"github.com/google/uuid"' }).filter(([name]) => new RegExp(`\\b${name}\\.`).test(body)).map(([, line]) => line)];
  return `package main\nimport (\n"context"\n${imports.join("\n")}\n)\n${body}\nfunc main() {}\n`;
}

check("what is selected or asked is of the place that it was begun in", async () => {
  await data.api("POST", "/namespaces", { name: "two" });
  for (const namespace of ["default", "two"]) await data.api("POST", "/jobs?namespace=" + namespace, { kind: "twin", queue: "twins", delay: "5h" });
  const { page, wrong, close } = await at("/queues");
  await page.getByRole("checkbox", { name: "Select twins" }).check();
  await page.getByLabel("Namespace").selectOption("two");
  await page.getByRole("checkbox", { name: "Select twins" }).waitFor();
  assert.equal(await page.getByRole("toolbar").count(), 0); // nothing is selected there
  await page.goto("/jobs?q=kind%3Atwin");
  await settled(page);
  await page.locator("tbody tr").getByRole("checkbox").check();
  await page.getByRole("navigation", { name: "States" }).getByRole("link", { name: "failed" }).click();
  await page.waitForURL(/state=failed/);
  assert.ok(await page.getByRole("toolbar").getByRole("button", { name: "Delete" }).isDisabled());

  await page.goto("/queues/twins");
  await settled(page);
  await page.goto("/queues/twins?namespace=two");
  await button(page, "Settings…").click();
  await page.getByLabel("Attempts at most").fill("9");
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await data.api("GET", "/queues/twins")).attempts.max_attempts, null);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("what cannot be read is told, and never said to be well; who signs out in one tab is out in all", async () => {
  const { page, close } = await open(browser, server);
  await page.route("**/api/v1/schedules*", (route) => route.fulfill({ status: 500, contentType: "text/html", body: "<h1>proxy</h1>" }));
  await page.goto("/");
  await says(page, "It is not known whether all is well");
  assert.equal(await page.getByText("Nothing needs you").count(), 0);
  await page.goto("/jobs?q=queue%3Areports");
  await settled(page);
  await page.locator("button.live.live").waitFor();
  await page.route("**/api/v1/jobs?**", (route) => route.abort());
  await data.client.enqueue("report", {}, { queue: "reports", delay: "9h" });
  await page.getByText(/Not up to date since/).waitFor();
  await page.unrouteAll();
  await data.client.enqueue("report", {}, { queue: "reports", delay: "9h" });
  await page.getByText(/Not up to date since/).waitFor({ state: "detached" });
  await close();

  const one = await open(browser, server);
  await one.page.goto("/jobs");
  await settled(one.page);
  const other = await one.page.context().newPage();
  await other.goto("/settings");
  await button(other, "Sign out").click();
  await other.getByLabel("Token or API key").waitFor();
  await data.client.enqueue("mail", { to: "ann" }, { queue: "letters" }); // so that the first one reads
  await one.page.getByLabel("Token or API key").waitFor();
  await one.close();
});

checkOnce("odd values of the URL and of user code leave the page to be used", async () => {
  const { page, wrong, close } = await at("/");
  for (const path of [`/jobs/${data.jobs.ends}?only=constructor&history=__proto__&at=toString&zoom=NaN`, "/?span=constructor", "/jobs?size=100000", "/jobs?size=-1", "/jobs?state=nothing&sort=sideways", "/jobs?cursor=x", `/jobs/${data.jobs.ends}?tab=constructor`]) {
    await page.goto(path);
    await settled(page);
    assert.equal(await page.getByText("has failed").filter({ hasText: "part of the page" }).count(), 0, path);
    await page.locator("main h1").first().waitFor();
  }
  for (const path of ["/%E0%A4%A", "/queues/%E0%A4%A"]) {
    await page.evaluate((to) => { history.pushState(null, "", to); dispatchEvent(new PopStateEvent("popstate")); }, path);
    await page.locator("main h1", { hasText: /There is no such page|It is not there|That did not work/ }).waitFor();
  }
  await page.goto("/");
  await data.client.enqueue("odd", {}, { queue: "a,b", tags: ["x y", 'say "hi"'], delay: "5h" });
  await data.client.enqueue("odd", {}, { queue: "a", delay: "5h" });
  await page.goto("/queues/" + encodeURIComponent("a,b"));
  await settled(page);
  await page.locator(".tiles").getByRole("link", { name: /scheduled/ }).click();
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.getByRole("link", { name: "odd" }).first().click();
  await page.getByRole("link", { name: 'say "hi"' }).click();
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.locator("tbody tr").count(), 1);
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("the focus goes to what was opened, and back to what asked", async () => {
  const { page, wrong, close } = await at("/jobs?q=kind%3Aorder");
  const focused = () => page.evaluate(() => document.activeElement?.tagName + " " + document.activeElement?.textContent);
  await page.locator("tbody tr").first().getByRole("link", { name: "order", exact: true }).click();
  await page.waitForFunction(() => document.activeElement?.tagName === "H1");
  await page.goto("/jobs/" + data.jobs.waits);
  await settled(page);
  for (const leave of [() => page.keyboard.press("Escape"), () => page.getByRole("dialog").getByRole("button", { name: "Close" }).first().click()]) {
    await page.waitForTimeout(600); // a second Enter is none that was meant for the button
    await page.getByRole("button", { name: "Send a signal" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("t"); // typed, not a key of the page
    await leave();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await focused(), "BUTTON Send a signal");
  }
  const held = (await data.client.enqueue("later", {}, { delay: "5h" })).id;
  await page.goto("/jobs/" + held);
  await settled(page);
  await button(page, "Pause").click();
  await page.getByRole("dialog").waitFor(); // before, Enter is for the button
  await page.getByLabel("Reason, which is recorded").focus();
  let asked = 0;
  page.on("request", (r) => r.method() === "POST" && /\/(pause|resume)$/.test(new URL(r.url()).pathname) && asked++);
  const began = Date.now(); // a press that comes later than twice that after the dialog is meant for the button
  for (let i = 0; i < 8 && Date.now() - began < 250; i++) await page.keyboard.press("Enter");
  await button(page, "Resume").waitFor();
  assert.equal(asked, 1);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("que");
  await page.getByRole("dialog").getByRole("option").nth(2).waitFor(); // the queues are read
  await page.keyboard.press("ArrowDown");
  const options = page.getByRole("dialog").getByRole("option");
  assert.equal(await page.getByRole("dialog").getByRole("option", { selected: true }).innerText(), await options.nth(1).innerText());
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  const scripts = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.locator("body").press("t");
  await page.waitForFunction((was) => document.documentElement.dataset.theme !== was, scripts);
  await page.locator("body").press(".");
  await page.locator("button.live.paused").waitFor();
  await page.locator("body").press(".");
  await page.locator("body").press("j");
  await page.locator("body").press("j");
  await page.locator("body").press("k");
  await page.locator("body").press("x");
  await page.locator("tr.current").getByRole("checkbox", { checked: true }).waitFor();
  await page.locator("body").press("?");
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await page.getByLabel("they do not").check();
  await page.locator("body").press("g");
  await page.locator("body").press("q");
  await page.waitForTimeout(200);
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("dialogs, menus and the palette: axe finds nothing, wide in light and narrow in dark", async () => {
  for (const o of [{}, { dark: true, ...phone }]) {
    const { page, wrong, close } = await open(browser, server, o);
    const clean = async (what) => {
      assert.deepEqual(await violations(page), [], `${what} ${JSON.stringify(o)}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)) <= 0, what);
    };
    await page.goto("/jobs");
    await settled(page);
    await page.locator("summary", { hasText: "Columns" }).click();
    await clean("the menu of columns");
    await page.keyboard.press("Escape");
    await button(page, "Enqueue a job").click();
    await page.getByRole("dialog").getByLabel("Kind", { exact: true }).fill("x");
    await page.getByLabel("Args, as JSON").fill("{");
    await button(page, "Enqueue").click();
    await says(page, "That is no JSON");
    await clean("a dialog with an error");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("option").first().waitFor();
    await clean("the palette");
    await page.keyboard.press("Escape");
    await page.locator("tbody tr").first().hover();
    await data.client.enqueue("mail", { to: "ann" }, { queue: "letters", delay: "5h" });
    await page.locator(".news button").waitFor();
    await clean("rows that are held");
    const more = [`/dead/${(await data.api("GET", "/dead")).items[0].fingerprint}`, `/nodes/${(await data.api("GET", "/nodes?alive=true")).items[0].id}`, `/operations/${(await data.api("GET", "/operations")).items[0].id}`];
    for (const path of more) {
      await page.goto(path);
      await settled(page);
      await clean(path);
    }
    assert.deepEqual(wrong, []);
    await close();
  }
});

check("who may only look is offered nothing else, and payloads stay hidden", async () => {
  const key = await data.api("POST", "/keys", { name: "onlooker", scopes: ["jobs:read", "queues:read", "events:read"], namespace: "default" });
  const own = await serve(server.database, { args: ["--auth", "keys"] });
  const { page, wrong, close } = await open(browser, own, { token: key.secret });
  await page.goto("/jobs/" + data.jobs.ends + "?tab=payload");
  await settled(page);
  await says(page, "it needs the scope payloads:read");
  assert.deepEqual(await page.locator("header.page-head button").allTextContents(), ["command", "curl", "Go", "ID"]); // Copy as, and nothing that changes
  await page.goto("/");
  await page.locator(".tiles li", { hasText: "Nodes" }).getByText("–").waitFor(); // which it may not see, and does not wait for
  await settled(page);
  assert.equal(await page.getByText("Looking…").count(), 0);
  await page.goto(`/jobs/${data.jobs.ends}?tab=payload`);
  assert.equal(await button(page, "Retry").count(), 0);
  assert.equal(await page.getByRole("link", { name: "Audit" }).count(), 0);
  assert.deepEqual(wrong, []);
  await close();
  await own.stop();
});

check("a server that is away is told of, and come back to", async () => {
  const { page, close } = await at("/queues");
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.goto("/nodes").catch(() => {});
  await says(page, "the server does not answer");
  await page.unroute("**/api/v1/**");
  await button(page, "Try again").click();
  await page.getByRole("heading", { name: "Nodes" }).waitFor();
  await close();
});

check("a run is followed live, step by step, while it runs", async () => {
  const job = await data.client.enqueue("slow", {}, { queue: "batch" });
  const { page, wrong, close } = await at("/jobs/" + job.id);
  for (const step of ["one", "two", "three"]) await page.getByRole("button", { name: new RegExp(`^${step} done`) }).waitFor();
  await page.locator("h1 .state.completed").waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("a busy database asks no more of the browser: at most four reads a second of each thing shown", async () => {
  const { page, wrong, close } = await at("/jobs");
  let lists = 0;
  page.on("request", (r) => new URL(r.url()).pathname === "/api/v1/jobs" && r.method() === "GET" && lists++);
  const began = Date.now();
  while (Date.now() - began < 4000) {
    await data.client.enqueueMany(Array.from({ length: 20 }, (_, n) => ({ kind: "mail", args: { to: `busy+${n}@example.com` }, queue: "letters" })));
  }
  while (lists === 0 && Date.now() - began < 20_000) await page.waitForTimeout(50); // a busy machine is slow to tell
  const seconds = (Date.now() - began) / 1000;
  assert.ok(lists > 0, "the page follows nothing");
  assert.ok(lists <= 4 * seconds + 3, `${lists} reads in ${seconds} s`);
  assert.deepEqual(wrong, []);
  await close();
});

checkOnce("tables fit into a window of 1300 pixels, that of dead letters into one of 1100; a long tag is cut", async () => {
  const tag = "0199e1f3-58d5-7b3c-9e55-d1fd3b2fa0b5";
  for (const queue of ["imports-of-the-warehouse-by-night", "letters"]) {
    const { id } = await data.client.enqueue("mail", { to: "nobody" }, { queue, tags: [tag], maxAttempts: 1 });
    for (let i = 0; i < 100 && (await data.client.job(id).get()).state !== "failed"; i++) await new Promise((wake) => setTimeout(wake, 50));
  }
  for (const [width, paths] of [[1300, ["/", "/jobs", "/jobs?state=failed&sort=finished", "/dead", "/queues", "/queues/letters"]], [1100, ["/dead"]]]) {
    const { page, wrong, close } = await open(browser, server, { width });
    for (const path of paths) {
      await page.goto(path);
      await settled(page);
      const over = await page.locator(".table").evaluateAll((all) => all.map((t) => t.scrollWidth - t.clientWidth));
      assert.ok(over.length > 0 && over.every((n) => n <= 0), `${path} at ${width}: ${over} pixels wider`);
      const heights = await page.locator(`.tag[title="${tag}"]`).evaluateAll((all) => all.map((t) => t.offsetHeight));
      assert.ok(heights.every((n) => n < 30) && (!path.startsWith("/jobs") || heights.length > 0), `${path} at ${width}: tags of ${heights} pixels`);
    }
    assert.deepEqual(wrong, []);
    await close();
  }
});
