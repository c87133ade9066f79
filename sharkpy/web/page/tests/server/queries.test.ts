/** Queries of a real server: logins, lists, live progress, cancels, profiles. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Console, LOOKS, open } from "../browser/console.ts";
import { ask, check, LIGHT, openAs, run, runId, startOnServer } from "./real.ts";

const QUERIES = fileURLToPath(new URL("../../../../../bench/queries/tpcds/", import.meta.url));
const LONG =
  "SELECT count(*) FROM (SELECT posexplode(split(space(99999), ' ')) AS (n, x)) a " +
  "CROSS JOIN (SELECT posexplode(split(space(99999), ' ')) AS (n, x)) b WHERE a.n * b.n % 7 = 3";
/** Settings with which stages have several tasks, though the tables are small. */
const TASKS = { "shark.placement.driver": "false", "shark.source.split.bytes": "1", "shark.task.single.max.rows": "0" };

let at: Console;
let plan64: string;
let stages25: string;

beforeAll(async () => {
  at = await startOnServer();
  const text = (name: string) => readFileSync(`${QUERIES}${name}.sql`, "utf8").trim().replace(/;$/, "");
  // The few items of small data have other prices.
  plan64 = await runId(at, "ada", text("q64").replaceAll(/BETWEEN 64.*/g, "BETWEEN 1 AND 30"));
  stages25 = await runId(at, "ada", text("q25"), { ...TASKS, "shark.query.tag": "nightly report" });
  const answer = await ask(at, "ada", "v1/sql", { statement: "SELECT carrier,\n  dlay\nFROM flights" });
  expect(answer.status).toBe(400);
  await run(at, "bob", "SELECT 'of bob', count(*) FROM flights");
});
afterAll(() => at.close());

test("log in and out", async () => {
  const { page, context } = await open(at, LIGHT, "#/queries");
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".notice.bad").waitFor();
  await page.getByLabel("Password").fill("secret ada");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator("tbody tr").first().waitFor();
  await page.reload();
  await page.locator("tbody tr").first().waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Password").waitFor();
  await page.goto(`${at.address}#/worksheet`);
  await page.getByLabel("Password").waitFor();
  await context.close();
});

describe.each(LOOKS)("$name", (look) => {
  test("login", async () => {
    const opened = await open(at, look, "#/");
    await opened.page.getByLabel("Password").waitFor();
    await check(opened, `login-${look.name}`);
    await opened.context.close();
  });

  test.each([
    ["overview", () => "#/", "Most expensive"],
    ["queries", () => "#/queries", "catalog_returns"],
    ["expensive", () => "#/queries?tab=expensive", "cross_sales"],
    ["failed", () => "#/queries?state=failed", "dlay"],
    ["query-64", () => `#/queries/${plan64}`, "Plan"],
    ["query-25", () => `#/queries/${stages25}`, "nightly report"],
    ["query-25-stages", () => `#/queries/${stages25}?tab=stages`, "Stages"],
    ["query-25-decisions", () => `#/queries/${stages25}?tab=decisions`, "Decisions"],
  ])("%s", async (name, hash, text) => {
    const opened = await openAs(at, "ada", hash(), look);
    await opened.page.getByText(text).first().waitFor();
    await check(opened, `${name}-${look.name}`);
    await opened.context.close();
  });
});

test("a user sees its own queries, an administrator all", async () => {
  const ada = await openAs(at, "ada", "#/queries");
  await ada.page.locator("tbody tr").first().waitFor();
  expect(await ada.page.getByText("of bob").count()).toBe(0);
  const root = await openAs(at, "root", "#/queries");
  await root.page.getByText("of bob").first().waitFor();
  await ada.context.close();
  await root.context.close();
});

test("a failed query has its error at its place", async () => {
  const opened = await openAs(at, "ada", "#/queries?state=failed");
  await opened.page.getByText("dlay").first().click();
  await opened.page.getByText('did you mean "delay"?').waitFor();
  expect(await opened.page.locator(".sql-row mark").textContent()).toBe("dlay");
  await check(opened, "failed-query");
  await opened.context.close();
});

test("the plan of query 64 can be walked and searched", async () => {
  const { page, context, problems } = await openAs(at, "ada", `#/queries/${plan64}`);
  await page.locator(".box").first().waitFor();
  expect(await page.locator(".box").count()).toBeGreaterThan(60);
  await page.getByLabel("Find operators").fill("income_band");
  await page.keyboard.press("Enter");
  await page.locator(".box.chosen").waitFor();
  await page.waitForURL(/operator=/);
  expect(problems).toEqual([]);
  await context.close();
});

test("a running query shows its progress, and can be cancelled", async () => {
  const opened = await openAs(at, "ada", "#/queries?state=active");
  const { page } = opened;
  await page.getByText("Live", { exact: true }).waitFor();
  const ended = run(at, "ada", "SELECT count(*) FROM eight a CROSS JOIN flights b WHERE a.n * b.id % 7 = 3", TASKS);
  const row = page.locator("tbody tr").filter({ hasText: "CROSS JOIN" });
  await row.getByText(/stage \d/).waitFor();
  await row.getByText("1 of 2 tasks").waitFor();
  await check(opened, "running");
  await row.getByRole("link").click();
  await page
    .locator(".running-now")
    .getByText(/stage \d/)
    .waitFor();
  await check(opened, "running-query");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the query" }).click();
  await page.getByText("Cancelled").first().waitFor();
  await page.getByText("cancelled from the console by ada").waitFor();
  expect(JSON.stringify(await ended)).toContain("57014");
  await opened.context.close();
});

test("another user's query is missing", async () => {
  const ended = run(at, "bob", LONG);
  const running = async () =>
    (await (await ask(at, "bob", "api/v1/queries?state=running")).json()).queries[0]?.query_id;
  await expect.poll(running, { timeout: 20_000 }).toBeTruthy();
  const id = await running();
  const { page, context } = await openAs(at, "ada", `#/queries/${id}`);
  await page.getByText("There is no such query").waitFor();
  await ask(at, "bob", `api/v1/queries/${id}/cancel`, {});
  await ended;
  await context.close();
});
