// The timeline and history of a run, and the forms of schedules, in a real browser: what a person
// does there with keys, mouse and odd files, and who sees which secrets.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before } from "node:test";
import { Client } from "../../clients/typescript/src/index.js";
import { browserPath, check, launch, open, serve, settled } from "./bed.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let server, browser, client, payout, token;

async function api(method, path, body) {
  const headers = { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" };
  const answer = await fetch(`${server.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** A run that waits for a callback, and has told a link with its token. It returns the job. */
async function waitsForACallback() {
  const { worker } = await api("POST", "/workers", { name: "bank-2", kinds: ["payout"], queues: ["payouts"], slots: 1, journal: 1 });
  const { id } = await client.enqueue("payout", { cents: 100 }, { queue: "payouts" });
  const { jobs } = await api("POST", `/workers/${worker}/poll?wait=10s`, { want: 1, seq: 1 });
  const run = `/runs/${jobs[0].lease}`;
  await api("POST", run + "/journal", { after: 0, entries: [{ kind: "callback", path: "1", data: { name: "bank" } }] });
  token = (await api("GET", `/jobs/${id}/journal`)).items[0].name;
  await api("POST", run + "/journal", { after: 1, entries: [{ kind: "step", path: "2", name: "tell", data: { link: "https://example.com/" + token } }] });
  await api("POST", run + "/park", { messages: ["callback", "callback failed"], seen: 0, waits_for: ["callback bank"], for: "24h" });
  await api("POST", `/workers/${worker}/leave`);
  return id;
}

before(async () => {
  assert.ok(browserPath, "there is no Chromium; install it, or name it in CHROMIUM");
  server = await serve(); // of its own, also where the others use PostgreSQL: nothing here is of a store
  client = new Client({ url: server.url, token: server.token });
  payout = await waitsForACallback();
  for (const s of [{ name: "new", cron: "30 2 * * *", tz: "Europe/Berlin" }, { name: "kathmandu", cron: "0 12 * * *", tz: "Asia/Kathmandu" }]) {
    await api("POST", "/schedules", { ...s, job: { kind: "report", queue: "reports" } });
  }
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

async function at(path, o) {
  const opened = await open(browser, server, o);
  await opened.page.goto(path);
  await settled(opened.page);
  return opened;
}

const button = (page, name) => page.getByRole("button", { name, exact: true }).first();

/** axe finds nothing, and nothing is wider than the window. */
async function sound(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "wider than the window");
}

const second = (s) => new Date(Date.parse("2026-11-28T12:00:00Z") + s * 1000).toISOString();
const file = (entries) => ({ name: "h.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify({ entries })) });

check("tokens of callbacks are shown and downloaded by those alone who may answer them", async () => {
  const key = await api("POST", "/keys", { name: "looks", scopes: ["jobs:read", "payloads:read", "events:read"], namespace: "default" });
  const own = await serve(server.database, { args: ["--auth", "keys"] });
  for (const [of, credential, sees] of [[own, key.secret, false], [server, server.token, true]]) {
    const { page, wrong, close } = await open(browser, of, { token: credential });
    await page.goto(`/jobs/${payout}?history=json&at=2`);
    await settled(page);
    await page.getByRole("heading", { name: "tell" }).waitFor();
    assert.equal((await page.locator("main").innerText()).includes(token), sees);
    await page.getByRole("button", { name: /^waits for bank/ }).waitFor(); // the wait is under way
    const comes = page.waitForEvent("download");
    await button(page, "Download").click();
    const text = readFileSync(await (await comes).path(), "utf8");
    assert.equal(text.includes(token), sees);
    assert.match(text, /"bank/);
    assert.deepEqual(wrong, []);
    await close();
  }
  await own.stop();
});

check("odd parameters and files: the page stands, and says what is wrong", async () => {
  const { page, wrong, close } = await at("/history?only=constructor&at=1&as=table");
  await page.getByLabel("File").setInputFiles(file([{ kind: "step", at: second(0), path: "1" }, { kind: "step", path: "2" }]));
  await page.getByText("Entry 2 (step) has no time").waitFor();
  await page.getByLabel("File").setInputFiles(file([{ kind: "constructor", name: "odd", at: second(0), path: "1" }, { kind: "patched", name: "v2", at: second(1) }, { kind: "step", name: "charge", at: second(2), path: "2" }]));
  const names = () => page.getByRole("table", { name: "History" }).locator("tbody tr").evaluateAll((rows) => rows.map((r) => r.cells[4].innerText.trim()));
  await page.getByRole("table", { name: "History" }).waitFor();
  assert.deepEqual(await names(), ["odd", "v2", "charge"]);
  await button(page, "Newest first").click();
  await page.locator('[aria-pressed="true"]', { hasText: "Newest first" }).waitFor();
  assert.deepEqual(await names(), ["charge", "v2", "odd"]);
  await page.getByLabel("Only").selectOption("other");
  await page.waitForURL(/only=other/);
  assert.deepEqual(await names(), ["v2", "odd"]);
  assert.deepEqual(wrong, []);
  await close();
});

for (const width of [1280, 390]) {
  check(`a key that is told 3,000 times, ${width} pixels: few bars, payloads in pages, keys and mouse pan`, async () => {
    const { page, wrong, close } = await at("/history", { width });
    await page.getByLabel("File").setInputFiles(file(Array.from({ length: 3000 }, (_, i) => ({ kind: "published", name: "steps", path: String(i), at: second(i), data: i }))));
    await page.getByRole("button", { name: /^published steps, and/ }).first().waitFor();
    assert.ok((await page.locator(".track button").count()) <= 120);
    await page.locator(".track button").last().click();
    await page.getByText("1 to 20 of 3,000 payloads").waitFor();
    assert.ok((await page.locator(".details .payload").count()) === 20);
    await page.getByRole("navigation", { name: "Pages of payloads" }).getByRole("button", { name: "Later →" }).click();
    await page.getByText("21 to 40 of 3,000 payloads").waitFor();
    await sound(page);
    const lanes = page.getByRole("group", { name: /^Timeline/ });
    const left = () => lanes.evaluate((b) => b.scrollLeft);
    for (let i = 0; i < 3; i++) await lanes.press("+");
    await page.waitForURL(/zoom=8/);
    await lanes.press("ArrowRight");
    const right = await left();
    assert.ok(right > 50, String(right));
    await lanes.press("ArrowLeft");
    assert.equal(await left(), 0);
    const box = await page.locator(".lane").first().evaluate((e) => ((r) => ({ x: Math.min(r.right, innerWidth) - 60, y: r.top + 3 }))(e.getBoundingClientRect()));
    await page.mouse.move(box.x, box.y);
    await page.mouse.down();
    await page.mouse.move(box.x - 80, box.y, { steps: 4 });
    await page.mouse.up();
    assert.equal(await left(), 80);
    await page.mouse.move(box.x - 20, box.y); // it is let go of
    assert.equal(await left(), 80);
    await button(page, "Fit").click();
    const axis = await page.locator(".time-axis .track").evaluate((e) => ((r) => ({ x: r.left, y: r.top + 12, width: r.width }))(e.getBoundingClientRect()));
    await page.mouse.move(axis.x + axis.width * 0.5, axis.y);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width * 0.7, axis.y, { steps: 4 });
    await page.locator(".time-axis .part").waitFor();
    await page.mouse.up();
    await page.waitForURL(/zoom=4/); // a fifth of it
    await page.waitForFunction(() => { // which begins where the part did
      const [lanes, track] = [document.querySelector(".lanes"), document.querySelector(".time-axis .track")];
      return Math.abs(lanes.scrollLeft - track.clientWidth / 2) < 4;
    });
    assert.equal(await page.locator(".time-axis .part").count(), 0);
    assert.deepEqual(wrong, []);
    await close();
  });
}

check("backfill is in the zone of the schedule, and says so in both", async () => {
  const { page, wrong, close } = await at("/schedules/kathmandu");
  await page.locator("summary", { hasText: "More" }).first().click();
  await button(page, "Backfill…").click();
  await page.getByLabel("From, in Asia/Kathmandu").fill("2026-11-01T12:00:00");
  await page.getByLabel("To, in Asia/Kathmandu").fill("2026-11-03T12:00:01");
  const sent = page.waitForRequest(/backfill/);
  await button(page, "Count").click();
  const range = (await sent).postDataJSON();
  assert.deepEqual([range.from, range.to], ["2026-11-01T06:15:00.000Z", "2026-11-03T06:15:01.000Z"]);
  await page.getByRole("heading", { name: "Enqueue 3 jobs" }).waitFor();
  await page.getByText("2026-11-01 12:00:00 to 2026-11-03 12:00:01 in Asia/Kathmandu").waitFor();
  await page.getByText("as this page has it").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Enqueue" }).click();
  await page.getByText("3 jobs are enqueued").first().waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

check("a schedule that is called new is opened; the form for a new one keeps the newest preview", async () => {
  const { page, wrong, close } = await at("/schedules/new");
  await page.getByText("every day at 02:30 in Europe/Berlin").first().waitFor();
  await page.goto("/schedules");
  await page.getByRole("link", { name: "New schedule" }).click();
  await page.getByRole("heading", { name: "New schedule" }).waitFor();
  await page.getByText("every day at 03:00").first().waitFor();
  let late;
  await page.route("**/schedules/preview*", async (route) => {
    if (!route.request().postData().includes("0 1 * * *")) return route.continue();
    const answer = await route.fetch();
    late = () => route.fulfill({ response: answer }).catch(() => {}); // the page may have given it up
  });
  const asked = page.waitForRequest((r) => r.url().includes("preview") && r.postData().includes("0 1 * * *"));
  await page.getByLabel("Cron").first().fill("0 1 * * *");
  await asked;
  await page.getByLabel("Cron").first().fill("0 9 * * *");
  await page.getByText("every day at 09:00").first().waitFor();
  for (let i = 0; i < 100 && !late; i++) await page.waitForTimeout(20);
  await late();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.equal(await page.getByText("every day at 01:00").count(), 0);
  await page.getByText("every day at 09:00").first().waitFor();
  assert.deepEqual(wrong, []);
  await close();
});
