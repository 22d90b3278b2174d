// Takes pictures of all pages, for people to look at: HOLDFAST_PICTURES=DIR node e2e/look.mjs
import { launch, open, picture, serve, settled } from "./bed.mjs";
import { seed } from "./seed.mjs";

const server = await serve(process.argv[2]);
const data = await seed(server.url, server.token);
const browser = await launch();
const pages = {
  overview: "/", jobs: "/jobs", "jobs-failed": "/jobs?state=failed&sort=finished", "job-waits": "/jobs/" + data.jobs.waits, "job-ends": "/jobs/" + data.jobs.ends, "job-retries": "/jobs/" + data.jobs.retries,
  "job-long": "/jobs/" + data.jobs.long, "job-fails": `/jobs/${data.jobs.fails}?tab=attempts`, "job-unserved": "/jobs/" + data.jobs.unserved, queues: "/queues", queue: "/queues/letters", schedules: "/schedules", schedule: "/schedules/nightly-report", "schedule-new": "/schedules/new",
  limits: "/limits", limit: "/limits/mail-server", nodes: "/nodes", dead: "/dead", operations: "/operations", audit: "/audit", keys: "/keys", settings: "/settings",
};
for (const [look, o] of Object.entries({ light: {}, dark: { dark: true }, phone: { width: 390, height: 844 } })) {
  const { page, wrong, close } = await open(browser, server, o);
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(path);
    await settled(page);
    await picture(page, `${name}-${look}`);
  }
  if (wrong.length) console.error(look, wrong);
  await close();
}
await browser.close();
await data.stop();
await server.stop();
