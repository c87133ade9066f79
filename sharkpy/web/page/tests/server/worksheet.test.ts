/** The worksheet over a real server: rows, charts, parameters, errors, files, and markup in names and values. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Console, LOOKS } from "../browser/console.ts";
import { ask, check, openAs, runTyped, startOnServer, type } from "./real.ts";

let at: Console;
beforeAll(async () => {
  at = await startOnServer();
});
afterAll(() => at.close());

const MARKUP = '<img src=x onerror="window.hacked=1">';
const BY_CARRIER =
  "SELECT carrier, origin, count(*) AS flights, avg(delay) AS delay FROM flights GROUP BY carrier, origin";

test.each(LOOKS)("rows and charts, $name", async (look) => {
  const opened = await openAs(at, "ada", "#/worksheet", look);
  const { page, context } = opened;
  await runTyped(page, BY_CARRIER);
  await page.getByText(/^15 rows · /).waitFor();
  await check(opened, `worksheet-${look.name}`);
  await page.getByRole("button", { name: "Chart" }).click();
  await page.locator(".chart-frame canvas").waitFor();
  expect(await page.locator(".chart-bar select").first().inputValue()).toBe("bar");
  await check(opened, `chart-${look.name}`);
  await page.getByRole("button", { name: "History" }).click();
  await page.getByRole("button", { name: /avg/ }).waitFor();
  await check(opened, `history-${look.name}`);
  await context.close();
});

test("a first question is answered from an empty page", async () => {
  const opened = await openAs(at, "ada", "#/");
  await opened.page.getByRole("link", { name: "Worksheet" }).click();
  await opened.page.locator(".cm-content").waitFor();
  await opened.page.keyboard.press("Control+End");
  await opened.page.keyboard.press("Control+Enter");
  await opened.page.getByText("store_sales").first().waitFor();
  await check(opened, "worksheet-first");
  await opened.context.close();
});

test("a million rows are scrolled to their end", async () => {
  const { page, context, problems } = await openAs(at, "ada", "#/worksheet");
  await runTyped(
    page,
    "SELECT a.id, b.n AS part, a.day, a.delay FROM flights a CROSS JOIN (SELECT n FROM eight LIMIT 10) b",
  );
  await page.getByText(/^1,000,000 rows · [\d.]+ (m?s|min)/).waitFor({ timeout: 110_000 });
  await page.locator(".grid").focus();
  await page.keyboard.press("Control+End");
  await page.getByRole("rowheader", { name: "1,000,000", exact: true }).waitFor();
  expect(await page.locator(".grid-row").count()).toBeLessThan(80);
  expect(problems).toEqual([]);
  await context.close();
});

test("parameters are values, whatever they contain", async () => {
  const { page, context } = await openAs(at, "ada", "#/worksheet");
  await type(page, "SELECT :text AS text, :number + 1 AS number, :nothing IS NULL AS is_null, ':text' AS literal");
  await page.getByRole("textbox", { name: ":text" }).fill("it's :number");
  await page.getByRole("textbox", { name: ":number" }).fill("41");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Enter");
  await page.getByText(/^1 row · /).waitFor();
  expect(await page.locator(".grid-cell").allTextContents()).toEqual(["it's :number", "42", "true", ":text"]);
  await context.close();
});

test("an error is marked at its place, and the query's page has it, too", async () => {
  const opened = await openAs(at, "ada", "#/worksheet");
  const { page, context } = opened;
  await type(page, "SELECT :one;\n\n-- a comment\nSELECT carrier,\n  dlay\nFROM flights WHERE id = :one;\nSELECT 3");
  await page.getByRole("textbox", { name: ":one" }).fill("1");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Shift+Control+Enter");
  await page.locator(".cm-lintRange-error").waitFor();
  expect(await page.locator(".cm-lintRange-error").textContent()).toBe("dlay");
  await page.getByText('did you mean "delay"?').first().waitFor();
  await check(opened, "worksheet-error");
  await context.close();
});

test("a running statement is stopped, and ends on the server", async () => {
  const { page, context } = await openAs(at, "bob", "#/worksheet");
  await runTyped(page, "SELECT count(*) AS stopped FROM flights a CROSS JOIN flights b WHERE a.id * b.id % 7 = 3");
  await page.getByText("Running").first().waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped").first().waitFor();
  const states = async () =>
    (await (await ask(at, "bob", "api/v1/queries?text=stopped")).json()).queries.map(
      (one: { state: string }) => one.state,
    );
  await expect.poll(states, { timeout: 20_000 }).toEqual(["cancelled"]);
  await context.close();
});

test("rows are carried away in the order of the table", async () => {
  const { page, context } = await openAs(at, "ada", "#/worksheet");
  await runTyped(page, "SELECT carrier, count(*) AS n FROM flights GROUP BY carrier");
  await page.getByText(/^5 rows · /).waitFor();
  await page.getByTitle("carrier: string").click();
  await page.getByTitle("carrier: string").click();
  await page.locator('[aria-sort="descending"]').waitFor();
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByText("5 rows copied").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^carrier\tn\nWN\t20000\nUA\t20000\nDL/);
  const files = [
    ["CSV", "result.csv", /^carrier,n\r\nWN,20000\r\n/],
    ["Parquet", "result.parquet", /^PAR1[\s\S]*PAR1$/],
    ["Arrow", "result.arrows", /carrier/],
  ] as const;
  for (const [name, file, content] of files) {
    const wait = page.waitForEvent("download");
    await page.getByRole("button", { name, exact: true }).click();
    const found = await wait;
    expect(found.suggestedFilename()).toBe(file);
    expect(readFileSync(await found.path(), "latin1")).toMatch(content);
  }
  await context.close();
});

test("statements of this browser are in its history, and open again", async () => {
  const { page, context } = await openAs(at, "ada", "#/worksheet");
  await runTyped(page, "SELECT 'first of the history'");
  await page.getByText(/^1 row · /).waitFor();
  await runTyped(page, "SELECT 'second', nothing FROM flights");
  await page.locator(".result-error").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "History" }).click();
  await page.getByText("Failed").first().waitFor();
  await page.locator(".run-history").getByLabel("Words of the statement").fill("FIRST of");
  await page.locator(".run-history li button").click();
  await page.locator(".sheet.current").getByText("Worksheet 2").waitFor();
  expect(await page.locator(".cm-content").textContent()).toBe("SELECT 'first of the history'");
  await context.close();
});

test("markup in names, values, errors and texts stays text", async () => {
  const opened = await openAs(at, "ada", "#/worksheet");
  const { page, context, problems } = opened;
  const isSafe = async () => {
    await page.waitForTimeout(300);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
  };
  await runTyped(
    page,
    `SELECT \`${MARKUP}\`, '${MARKUP}' AS x, 2 AS n FROM markup UNION ALL SELECT '${MARKUP}', 'y', 3`,
  );
  await page.getByText(/^2 rows · /).waitFor();
  await page.locator(".grid-cell").first().dblclick();
  await page.locator("dialog pre").waitFor();
  await isSafe();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Chart" }).click();
  await page.locator(".chart-frame canvas").waitFor();
  await isSafe();
  await runTyped(page, `SELECT \`no ${MARKUP}\` FROM markup`);
  await page.locator(".result-error").getByText("no column").waitFor();
  await isSafe();
  await page.getByRole("button", { name: "History" }).click();
  await isSafe();
  for (const hash of ["#/", "#/queries", "#/queries?tab=expensive", `#/queries?text=${encodeURIComponent("<img")}`]) {
    await page.goto(`${at.address}${hash}`);
    await page.getByText("onerror").first().waitFor();
    await isSafe();
  }
  await page.locator("tbody a").first().click();
  await page.locator(".sql-text").waitFor();
  await isSafe();
  expect(problems).toEqual([]);
  await context.close();
});
