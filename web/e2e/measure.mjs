// Measures the pages on a database that has much in it, in a real browser: how long a first view takes, and what a page asks while
// jobs run. Fill one first:
//
//	go run ./web/e2e/fill -jobs 10000000 big.db && go run ./web/e2e/fill -jobs 10 -namespace small big.db
//	node web/e2e/measure.mjs "$PWD/big.db"
import { spawn } from "node:child_process";
import { build, launch, open, serve, settled } from "./bed.mjs";

const database = process.argv[2];
const server = await serve(database);
const browser = await launch();
const paths = ["/", "/jobs", "/jobs?state=completed&sort=finished", "/jobs?state=failed&sort=finished", "/jobs?q=kind:mail%20state:completed", "/jobs?q=tag:none", "/queues", "/queues/q1", "/dead", "/nodes", "/schedules", "/limits", "/operations", "/audit"];

for (const namespace of ["default", "small"]) {
  for (const path of paths) {
    const times = [];
    for (let i = 0; i < 5; i++) {
      const { page, close } = await open(browser, server); // a new context: nothing is cached
      const began = Date.now();
      await page.goto(`${path}${path.includes("?") ? "&" : "?"}namespace=${namespace}`);
      await settled(page);
      times.push(Date.now() - began);
      await close();
    }
    console.log(`first view of ${path} in ${namespace}: ${times.sort((a, b) => a - b).join(" ")} ms`);
  }
}

const seconds = 30;
const storm = spawn(build(server.dir, "fill", "./web/e2e/fill"), ["-rate", "1700", "-for", "3m", database], { stdio: "inherit" });
for (const path of ["/jobs", "/"]) {
  const { page, close } = await open(browser, server);
  await page.goto(path);
  await settled(page);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const metric = async (name) => (await devtools.send("Performance.getMetrics")).metrics.find((m) => m.name === name).value;
  const asked = {};
  const took = [];
  const since = new Map();
  page.on("request", (r) => since.set(r, Date.now()));
  page.on("requestfinished", (r) => {
    const to = new URL(r.url()).pathname;
    asked[to] = (asked[to] ?? 0) + 1;
    took.push(Date.now() - (since.get(r) ?? Date.now()));
  });
  const busy = await metric("TaskDuration");
  await page.waitForTimeout(seconds * 1000);
  took.sort((a, b) => a - b);
  const share = (((await metric("TaskDuration")) - busy) / seconds) * 100;
  console.log(`${path} while 1,700 jobs/s run: the page is busy ${share.toFixed(0)} %, heap ${((await metric("JSHeapUsedSize")) / 1e6).toFixed(1)} MB, a read takes ${took[took.length >> 1]} ms (p99 ${took[Math.floor(took.length * 0.99)]})`);
  console.log("  reads a second:", Object.entries(asked).map(([to, n]) => `${to} ${(n / seconds).toFixed(1)}`).join(", "));
  await close();
}
storm.kill();
await browser.close();
await server.stop();
