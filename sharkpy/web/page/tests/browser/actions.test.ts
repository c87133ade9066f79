/** What a user does: log in, filter, cancel, run statements, copy and download. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Console, LOOKS, open, picture, SCREENSHOTS, startConsole } from "./console.ts";

let at: Console;
beforeAll(async () => {
  at = await startConsole();
});
afterAll(() => at.close());
const look = LOOKS[0] as (typeof LOOKS)[0];

test("log in and out", async () => {
  const { page, context } = await open(at, look, "#/queries", "login");
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("wrong user or password").waitFor();
  await page.getByLabel("Password").fill("shark");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator("tbody tr").first().waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Password").waitFor();
  await context.close();
});

test("filters and pages are in the address", async () => {
  const { page, context } = await open(at, look, "#/queries");
  await page.getByRole("button", { name: "Failed" }).click();
  await page.locator(".failed-with").first().waitFor();
  await page.getByLabel("Words of the statement").fill("fligths");
  await page.waitForURL(/text=fligths/);
  await page.reload();
  await page.locator(".failed-with").first().waitFor();
  expect(await page.getByLabel("Words of the statement").inputValue()).toBe("fligths");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("button", { name: "Duration" }).click();
  await page.waitForURL(/sort=seconds/);
  await page.getByRole("button", { name: "Next" }).click();
  await page.waitForURL(/cursor=50/);
  await page.getByRole("button", { name: "Previous" }).click();
  await page.waitForURL((url) => !url.hash.includes("cursor"));
  await context.close();
});

test("a running query can be cancelled, after a question", async () => {
  const { page, context } = await open(at, look, "#/queries?state=active");
  const row = page.locator("tbody tr").filter({ hasText: "Running" }).first();
  await row.locator(".progress").waitFor();
  await row.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Cancel this query?").waitFor();
  await page.getByRole("button", { name: "Cancel the query" }).click();
  await page.getByText("The query is being cancelled").waitFor();
  await context.close();
});

test("the palette finds pages by a few letters", async () => {
  const { page, context } = await open(at, look, "#/");
  await page.getByText("Running now").waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("wrksh");
  await page.keyboard.press("Enter");
  await page.locator(".cm-content").waitFor();
  await context.close();
});

test("the palette has the focus before the next key can come", async () => {
  const { page, context } = await open(at, look, "#/");
  await page.getByText("Running now").waitFor();
  const focused = await page.evaluate(`(async () => {
    window.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true }));
    for (let turn = 0; turn < 20; turn++) await null;
    return document.activeElement.getAttribute("aria-label");
  })()`);
  expect(focused).toBe("Find a page, a table, a query or an action");
  await context.close();
});

test("the chosen command of the palette stays chosen when tables arrive", async () => {
  let release: (_?: unknown) => void = () => {};
  const held = new Promise((resume) => {
    release = resume;
  });
  const { page, context } = await open(at, look, "#/", undefined, (made) =>
    made.route("**/api/v1/catalog*", async (route) => {
      await held;
      await route.continue();
    }),
  );
  await page.getByText("Running now").waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("flights");
  const chosen = page.locator('.palette [aria-selected="true"] .title');
  await chosen.getByText("FROM flights").waitFor();
  const title = await chosen.textContent();
  release();
  await page.getByRole("option", { name: "default.flights" }).waitFor();
  expect(await chosen.textContent()).toBe(title);
  expect(await page.getByRole("option").first().textContent()).toContain("default.flights");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/queries\/2026-/);
  await context.close();
});

test("the profile of a query is a file that needs no server", async () => {
  const { page, context } = await open(at, look, "#/queries/2026-099990");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "HTML" }).click();
  const path = `${SCREENSHOTS}profile-file.html`;
  await (await saving).saveAs(path);
  await context.close();
  for (const each of LOOKS) {
    const apart = await at.browser.newContext({
      offline: true,
      viewport: { width: each.width, height: each.height },
      colorScheme: each.isDark ? "dark" : "light",
    });
    const file = await apart.newPage();
    const requests: string[] = [];
    file.on("request", (request) => requests.push(request.url()));
    await file.goto(`file://${path}`);
    await file.locator(".box").first().waitFor();
    await file.waitForTimeout(150);
    await picture(file, `profile-file-${each.name}`);
    const wide = await file.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    expect({ requests, wide }).toEqual({ requests: [`file://${path}`], wide: 0 });
    await file.getByRole("tab", { name: "Stages" }).click();
    await file.locator("button.stage-row").first().waitFor();
    expect(file.url()).toContain("tab=stages");
    await apart.close();
  }
});

test("arrow keys move in the plan, and a link leads back to the operator", async () => {
  const { page, context } = await open(at, look, "#/queries/2026-099990");
  await page.locator(".plan-frame").focus();
  for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowDown");
  await page.waitForURL(/operator=2/);
  await page.reload();
  await page.locator(".box.chosen").waitFor();
  await page.getByLabel("Find operators").fill("scan flights");
  await page.keyboard.press("Enter");
  await page.waitForURL(/operator=8/);
  await context.close();
});

test("a million rows are scrolled, sorted and copied", async () => {
  const { page, context, problems } = await open(at, look, "#/worksheet");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("SELECT * FROM flights LIMIT 1000000");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1,000,000 rows ·").waitFor({ timeout: 100_000 });
  await page.getByText(/^1,000,000 rows · [\d.]+ (m?s|min)/).waitFor({ timeout: 100_000 });
  await page.locator(".grid").focus();
  await page.keyboard.press("Control+End");
  await page.getByRole("rowheader", { name: "1,000,000", exact: true }).waitFor();
  await page.keyboard.press("Home");
  await page.keyboard.press("Control+c");
  await page.getByText("Value copied").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe("9007199255740992");
  expect(await page.locator(".grid-row").count()).toBeLessThan(80);
  await page.getByTitle("dep_delay: double").click();
  await page.keyboard.press("Control+Home");
  await page.locator(".grid-row").first().getByText("-12", { exact: true }).waitFor();
  expect(problems).toEqual([]);
  await context.close();
});

test("worksheets stay after a reload, and a result is downloaded as CSV", async () => {
  const { page, context } = await open(at, look, "#/worksheet");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("SELECT carrier, count(*) FROM flights GROUP BY carrier");
  await page.reload();
  await page.getByText("SELECT carrier").first().waitFor();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Enter");
  await page.getByText("12 rows ·").waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  expect(file.suggestedFilename()).toBe("result.csv");
  await context.close();
});

test("a running statement can be stopped", async () => {
  const { page, context } = await open(at, look, "#/worksheet");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("SELECT slow FROM flights LIMIT 1000000");
  await page.keyboard.press("Control+Enter");
  await page.locator(".grid-cell").first().waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText(/Stopped after [\d,]+ rows/).waitFor();
  await context.close();
});

test("tables are found by a filter, opened, and queried in the worksheet", async () => {
  const { page, context, problems } = await open(at, look, "#/tables");
  await page.getByRole("button", { name: /^many/ }).click();
  await page.getByText("table_0000").waitFor();
  expect(await page.locator(".table-list li").count()).toBeLessThan(80);
  await page.getByLabel("Filter tables").fill("table_4999");
  await page.getByRole("link", { name: "table_4999" }).click();
  await page.waitForURL(/tables\/many\/table_4999/);
  await page.getByLabel("Filter tables").fill("odd");
  await page.getByRole("link", { name: "odd name `%" }).click();
  await page.getByRole("tab", { name: "Lineage" }).click();
  await page.waitForURL(/tab=lineage/);
  await page.locator(".lineage-node").filter({ hasText: "customers" }).click();
  await page.waitForURL(/shop\/customers\?tab=lineage/);
  await page.goBack();
  await page.getByRole("button", { name: "Query in worksheet" }).click();
  await page.getByText("FROM shop.`odd name ``%`").waitFor();
  expect(problems).toEqual([]);
  await context.close();
});

test("columns are filtered, and more are shown", async () => {
  const { page, context } = await open(at, look, "#/tables/shop/wide");
  await page.getByText("column_59").waitFor();
  expect(await page.locator(".columns-table tbody tr").count()).toBe(60);
  await page.getByRole("button", { name: "Show more of 1,000" }).click();
  await page.getByText("column_179").waitFor();
  await page.getByLabel("Filter columns").fill("column_999");
  await page.getByText("column_999").waitFor();
  await page.locator(".columns-table .number").getByText("12.4 M").waitFor({ state: "detached" });
  expect(await page.locator(".columns-table tbody tr").count()).toBe(1);
  await context.close();
});

test("older versions of a table are added to its history", async () => {
  const { page, context } = await open(at, look, "#/tables/shop/orders?tab=history");
  await page.locator(".history-table tbody tr").nth(49).waitFor();
  await page.getByRole("button", { name: "Show older versions" }).click();
  await page.locator(".history-table tbody tr").nth(99).waitFor();
  await context.close();
});

test("completion offers columns behind an alias, and takes them with Tab", async () => {
  const { page, context, problems } = await open(at, look, "#/worksheet");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("SELECT  FROM shop.orders o");
  await page.keyboard.press("Home");
  for (let step = 0; step < 7; step++) await page.keyboard.press("ArrowRight");
  await page.keyboard.type("o.am");
  await page.getByRole("option", { name: /amount/ }).waitFor();
  await page.waitForTimeout(200);
  await page.keyboard.press("Tab");
  await page.getByText("SELECT o.amount FROM shop.orders o").waitFor();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" JOIN shop.`od");
  await page.getByRole("option", { name: /odd name/ }).waitFor();
  // The editor takes no key in the first moment, so that fast typing chooses nothing.
  await page.waitForTimeout(200);
  await page.keyboard.press("Tab");
  await page.getByText("JOIN shop.`odd name ``%`").waitFor();
  await page.keyboard.type(" WHERE note = 'shop.");
  await page.waitForTimeout(300);
  expect(await page.locator(".cm-tooltip-autocomplete li").count()).toBe(0);
  expect(problems).toEqual([]);
  await context.close();
});

test("completion goes through folders to a file, and nowhere else in texts", async () => {
  const { page, context, problems } = await open(at, look, "#/worksheet", "hostile");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("SELECT * FROM '");
  await page.getByRole("option", { name: /^flights.csv.*29.6 MiB$/ }).waitFor();
  expect(await page.getByRole("option", { name: "notes" }).count()).toBe(0);
  await page.keyboard.type("sal");
  await page.getByRole("option", { name: "flights.csv" }).waitFor({ state: "detached" });
  await page.waitForTimeout(200);
  await page.keyboard.press("Tab");
  await page.getByRole("option", { name: "2026/" }).waitFor();
  await page.keyboard.type("al");
  await page.getByRole("option", { name: "2026/" }).waitFor({ state: "detached" });
  await page.waitForTimeout(200);
  await page.keyboard.press("Tab");
  await page.keyboard.type(" f WHERE x = 'sal");
  await page.getByText("SELECT * FROM 'sales/all.parquet' f WHERE x = 'sal'").waitFor();
  await page.waitForTimeout(300);
  expect(await page.locator(".cm-tooltip-autocomplete li").count()).toBe(0);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(problems).toEqual([]);
  await context.close();
});
