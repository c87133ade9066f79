/** Streams and the engine of a real server: a query that runs, fails and is resumed, and what readers see. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Console, LOOKS } from "../browser/console.ts";
import { check, openAs, run, startOnServer } from "./real.ts";

const MADE = [
  "CREATE STREAM ticks FROM RATE ('rowsPerSecond' = '50')",
  "CREATE TABLE kept_ticks (value BIGINT)",
  "CREATE CONTINUOUS INSERT keep_ticks TRIGGER EVERY 500 MILLISECONDS AS INSERT INTO kept_ticks SELECT value FROM ticks",
  "CREATE CONTINUOUS TABLE tenth_ticks TRIGGER EVERY 500 MILLISECONDS AS SELECT value FROM ticks WHERE value % 10 = 0",
];
const DROPPED = [
  "DROP CONTINUOUS INSERT keep_ticks",
  "DROP CONTINUOUS TABLE tenth_ticks",
  "DROP TABLE kept_ticks",
  "DROP STREAM ticks",
];

let at: Console;
beforeAll(async () => {
  at = await startOnServer();
  for (const statement of MADE) await run(at, "root", statement);
});
afterAll(async () => {
  for (const statement of DROPPED) await run(at, "root", statement);
  await at.close();
});

test("a query runs, stops by an error, and is resumed", async () => {
  const opened = await openAs(at, "ada", "#/streams");
  const { page, context } = opened;
  await page.locator(".stream-box", { hasText: "keep_ticks" }).click();
  const state = page.locator(".page-head .node-state");
  await page.locator(".live-chart canvas").first().waitFor();
  await expect.poll(() => state.textContent(), { timeout: 60_000 }).toBe("Running");
  await run(at, "root", "ALTER TABLE kept_ticks RENAME TO other_ticks");
  await page.getByText("Repair the cause").waitFor({ timeout: 60_000 });
  expect(await state.textContent()).toBe("Stopped");
  await check(opened, "stopped-stream");
  await run(at, "root", "ALTER TABLE other_ticks RENAME TO kept_ticks");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await expect.poll(() => state.textContent(), { timeout: 60_000 }).toBe("Running");
  expect(await page.getByText("Repair the cause").count()).toBe(0);
  await context.close();
});

test("a table is paused, rolled back and resumed", async () => {
  const { page, context } = await openAs(at, "ada", "#/streams/default.tenth_ticks");
  const state = page.locator(".page-head .node-state");
  await page.getByRole("button", { name: "Roll back" }).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
  await expect.poll(() => state.textContent(), { timeout: 60_000 }).toBe("Paused");
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByText(/Rolled back to epoch \d+/).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await expect.poll(() => state.textContent(), { timeout: 60_000 }).toBe("Running");
  await context.close();
});

describe.each(LOOKS)("$name", (look) => {
  test.each([
    ["streams", "#/streams", ".stream-box"],
    ["stream", "#/streams/default.tenth_ticks", ".live-chart canvas"],
    ["engine", "#/engine", ".log-line"],
  ])("%s", async (name, hash, shown) => {
    const opened = await openAs(at, "root", hash, look);
    await opened.page.locator(shown).first().waitFor();
    await check(opened, `${name}-${look.name}`);
    await opened.context.close();
  });
});

test("only administrators see the log", async () => {
  const { page, context, problems } = await openAs(at, "bob", "#/engine");
  await page.locator(".live-chart canvas").first().waitFor();
  expect(await page.getByRole("log").count()).toBe(0);
  expect(problems).toEqual([]);
  await context.close();
});
