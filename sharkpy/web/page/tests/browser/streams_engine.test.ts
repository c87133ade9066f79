/** Pages of streams and of the engine: their looks, markup in their data, and what a user does there. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Console, LOOKS, open, picture, seriousFindings, startConsole } from "./console.ts";

let at: Console;
beforeAll(async () => {
  at = await startConsole();
});
afterAll(() => at.close());
const look = LOOKS[0] as (typeof LOOKS)[0];

const CASES: readonly { name: string; hash: string; cookie?: string; ready: (page: Page) => Promise<unknown> }[] = [
  { name: "streams", hash: "#/streams", ready: (page) => page.locator("tbody tr").first().waitFor() },
  {
    name: "no-streams",
    hash: "#/streams",
    cookie: "empty",
    ready: (page) => page.getByText("No streams yet").waitFor(),
  },
  { name: "stream", hash: "#/streams/default.revenue", ready: (page) => page.locator("canvas").nth(2).waitFor() },
  {
    name: "stopped-stream",
    hash: "#/streams/default.large_orders",
    ready: (page) => page.getByText("Repair the cause").waitFor(),
  },
  { name: "source", hash: "#/streams/default.clicks", ready: (page) => page.getByText("CREATE STREAM").waitFor() },
  {
    name: "missing-stream",
    hash: "#/streams/default.nothing",
    ready: (page) => page.getByText("There is no such stream").waitFor(),
  },
  {
    name: "rollback",
    hash: "#/streams/default.hits",
    ready: async (page) => {
      await page.getByRole("button", { name: "Roll back" }).click();
      await page.getByRole("dialog").getByLabel("Epoch").waitFor();
    },
  },
  {
    name: "engine",
    hash: "#/engine",
    ready: async (page) => {
      await page.locator("canvas").nth(2).waitFor();
      await page.locator(".log-line").first().waitFor();
    },
  },
  {
    name: "quiet-engine",
    hash: "#/engine",
    cookie: "empty",
    ready: (page) => page.getByText("No session is open").waitFor(),
  },
];

describe.each(LOOKS)("$name", (looks) => {
  test.each(CASES)("$name", async ({ name, hash, cookie, ready }) => {
    const { page, context, problems } = await open(at, looks, hash, cookie);
    await ready(page);
    await page.waitForTimeout(200);
    const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    const findings = await seriousFindings(page);
    await picture(page, `${name}-${looks.name}`);
    if (name === "engine" || name === "stream") {
      await page.evaluate("document.querySelector('.columns').scrollIntoView()");
      await picture(page, `${name}-below-${looks.name}`);
    }
    await context.close();
    expect({ findings, problems, wide }).toEqual({ findings: [], problems: [], wide: 0 });
  });
});

const HOSTILE = encodeURIComponent(
  `default.hits <img src=x onerror="window.hacked=1">"'><script>window.hacked=1</script>`,
);

test.each(["#/streams", `#/streams/${HOSTILE}`, "#/engine"])("markup in the data of %s stays text", async (hash) => {
  const { page, context, problems } = await open(at, look, hash, "hostile");
  await page.getByText("onerror").first().waitFor();
  await page.waitForTimeout(400);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(await page.locator("img").count()).toBe(0);
  expect(problems).toEqual([]);
  await context.close();
});

test("a stopped query is resumed, and paused, after questions", async () => {
  const { page, context } = await open(at, look, "#/streams");
  await page.getByRole("link", { name: "default.large_orders" }).click();
  await page.getByText("no column").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("The epoch that failed runs again").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await page.getByText("Resumed").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep it running" }).click();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
  await page.locator(".node-state", { hasText: "Paused" }).waitFor();
  await context.close();
});

test("a rollback asks for the epoch, and shows its statement", async () => {
  const { page, context } = await open(at, look, "#/streams/default.per_minute");
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByLabel("Epoch").selectOption("1280");
  await page.getByText("ROLLBACK CONTINUOUS TABLE `default`.`per_minute` TO EPOCH 1280").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByText("Rolled back to epoch 1280").waitFor();
  await context.close();
});

test("the log shows errors alone", async () => {
  const { page, context } = await open(at, look, "#/engine");
  await page.locator(".log-line.info").first().waitFor();
  await page.getByRole("button", { name: "Errors" }).click();
  await page.locator(".log-line.error").first().waitFor();
  expect(await page.locator(".log-line.info").count()).toBe(0);
  await context.close();
});
