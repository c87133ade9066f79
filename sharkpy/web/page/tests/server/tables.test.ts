/** Tables of a real server: definitions, statistics, memory, history and lineage; completion in the worksheet. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Console, LOOKS } from "../browser/console.ts";
import { check, openAs, run, startOnServer, type } from "./real.ts";

const ODD = "odd <b>name ü `%";
const TEXTS = [
  "CREATE DATABASE IF NOT EXISTS shop",
  "CREATE TABLE shop.orders (id BIGINT, region STRING, amount DECIMAL(10,2), day DATE) TBLPROPERTIES ('shark.cache'='MEMORY')",
  "INSERT INTO shop.orders SELECT n, IF(n % 3 = 0, NULL, concat('region ', n % 5)), n / 7, date_add('2024-01-01', CAST(n % 60 AS INT)) FROM (SELECT posexplode(split(space(999), ' ')) AS (n, x)) a",
  "CREATE TABLE shop.by_region STORED AS PARQUET AS SELECT region, sum(amount) AS amount FROM shop.orders GROUP BY region",
  `CREATE VIEW shop.\`${ODD.replace("`", "``")}\` AS SELECT * FROM shop.by_region WHERE amount > 1`,
  "SELECT count(*) FROM shop.orders",
];

let at: Console;
beforeAll(async () => {
  at = await startOnServer();
  for (const text of TEXTS) expect((await run(at, "ada", text)).at(-1)).toHaveProperty("seconds");
});
afterAll(async () => {
  await run(at, "ada", "DROP DATABASE shop CASCADE");
  await at.close();
});

describe.each(LOOKS)("$name", (look) => {
  test.each([
    ["columns", "", "region 0"],
    ["sample", "?tab=sample", "region 1"],
    ["memory", "?tab=memory", "Compression"],
    ["files", "?tab=files", "1 file"],
    ["history", "?tab=history", "posexplode"],
    ["ddl", "?tab=ddl", "CREATE"],
    ["lineage", "?tab=lineage", "by_region"],
  ])("table: %s", async (name, tab, text) => {
    const opened = await openAs(at, "ada", `#/tables/shop/orders${tab}`, look);
    await opened.page.locator(".tables-main").getByText(text).first().waitFor();
    await check(opened, `table-${name}-${look.name}`);
    await opened.context.close();
  });
});

test("a column is opened, with the spread of its values", async () => {
  const { page, context, problems } = await openAs(at, "ada", "#/tables/shop/orders");
  for (const column of ["amount", "day"]) {
    await page.getByRole("button", { name: `Values of ${column}` }).click();
    await page.locator(".spread rect").nth(23).waitFor();
    await page.locator(".top-values li").first().waitFor();
  }
  await page.getByRole("button", { name: "Values of region" }).click();
  await page.locator(".top-values").getByText("NULL").waitFor();
  expect(problems).toEqual([]);
  await context.close();
});

test("a table with an odd name is found, and queried in the worksheet", async () => {
  const { page, context, problems } = await openAs(at, "ada", "#/tables");
  await page.getByLabel("Filter tables").fill("odd");
  await page.getByRole("link", { name: ODD }).click();
  await page.getByRole("tab", { name: "Lineage" }).click();
  await page.locator(".lineage-node").nth(2).waitFor();
  await page.getByRole("button", { name: "Query in worksheet" }).click();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Enter");
  await page.getByText(/^\d+ rows? ·/).waitFor();
  expect(problems).toEqual([]);
  await context.close();
});

test("another user sees the versions, but not the statements", async () => {
  const { page, context } = await openAs(at, "bob", "#/tables/shop/orders?tab=history");
  await page.getByText("of another user").first().waitFor();
  expect(await page.getByText("posexplode").count()).toBe(0);
  await context.close();
});

test("completion knows a new table at once, and columns behind an alias", async () => {
  const { page, context, problems } = await openAs(at, "ada", "#/worksheet");
  await type(page, "CREATE TABLE shop.made_now AS SELECT 1 AS first_column");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Results appear here").waitFor({ state: "detached" });
  await page.locator(".results .state.running").waitFor({ state: "detached" });
  await type(page, "SELECT  FROM shop.made_now m");
  await page.keyboard.press("Home");
  for (let step = 0; step < 7; step++) await page.keyboard.press("ArrowRight");
  await page.keyboard.type("m.");
  await page.locator(".cm-tooltip-autocomplete li").getByText("first_column").waitFor();
  expect(problems).toEqual([]);
  await context.close();
});
