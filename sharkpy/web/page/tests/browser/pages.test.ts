/** Each page in light, dark and at phone width: it shows its content, and neither axe nor the content policy objects. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Console, LOOKS, open, picture, seriousFindings, startConsole } from "./console.ts";

let at: Console;
beforeAll(async () => {
  at = await startConsole();
});
afterAll(() => at.close());

async function type(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

interface Case {
  name: string;
  hash: string;
  cookie?: string;
  ready: (page: Page) => Promise<unknown>;
}

const TABLE = "#/tables/shop/orders";
const QUERY = "#/queries/2026-099990";
const CASES: readonly Case[] = [
  { name: "overview", hash: "#/", ready: (page) => page.getByText("Running now").waitFor() },
  { name: "queries", hash: "#/queries", ready: (page) => page.locator("tbody tr").first().waitFor() },
  {
    name: "no-queries",
    hash: "#/queries",
    cookie: "empty",
    ready: (page) => page.getByText("No queries yet").waitFor(),
  },
  { name: "expensive", hash: "#/queries?tab=expensive", ready: (page) => page.locator("tbody tr").first().waitFor() },
  { name: "query", hash: QUERY, ready: (page) => page.locator(".box").first().waitFor() },
  {
    name: "operator",
    hash: `${QUERY}?operator=6`,
    ready: (page) => page.getByText("Buckets of the exchange").waitFor(),
  },
  {
    name: "stages",
    hash: `${QUERY}?tab=stages`,
    ready: async (page) => {
      await page.getByText("loading default.planes").waitFor();
      await page.locator("button.stage-row").first().click();
      await page.getByText("Bytes of each bucket").first().waitFor();
      await page.getByText("Tasks by worker").waitFor();
    },
  },
  { name: "decisions", hash: `${QUERY}?tab=decisions`, ready: (page) => page.getByText("Run time").first().waitFor() },
  {
    name: "runs",
    hash: `${QUERY}/compare`,
    ready: (page) => page.getByText("Compare with a run of the same text").waitFor(),
  },
  {
    name: "compare",
    hash: `${QUERY}/compare/2026-099991`,
    ready: (page) => page.locator("tr.worse").first().waitFor(),
  },
  {
    name: "large-plan",
    hash: "#/queries/large",
    ready: (page) => page.locator(".box").nth(499).waitFor({ state: "attached" }),
  },
  { name: "missing", hash: "#/queries/missing", ready: (page) => page.getByText("There is no such query").waitFor() },
  { name: "login", hash: "#/", cookie: "login", ready: (page) => page.getByLabel("Password").waitFor() },
  {
    name: "login-by-link",
    hash: "#/",
    cookie: "link",
    ready: (page) => page.getByText("Open the console by its link").waitFor(),
  },
  {
    name: "tables",
    hash: "#/tables",
    ready: (page) => page.getByText("Choose a table").waitFor({ state: "attached" }),
  },
  { name: "no-tables", hash: "#/tables", cookie: "empty", ready: (page) => page.locator(".tables-page").waitFor() },
  {
    name: "table",
    hash: TABLE,
    ready: async (page) => {
      await page.getByRole("button", { name: "Values of amount" }).click();
      await page.getByText("Most frequent values").waitFor();
    },
  },
  { name: "wide-table", hash: "#/tables/shop/wide", ready: (page) => page.getByText("column_59").waitFor() },
  { name: "sample", hash: `${TABLE}?tab=sample`, ready: (page) => page.locator(".grid-cell").first().waitFor() },
  { name: "memory", hash: `${TABLE}?tab=memory`, ready: (page) => page.getByText("48.2 k of 49.6 k").waitFor() },
  {
    name: "not-in-memory",
    hash: "#/tables/shop/customers?tab=memory",
    ready: (page) => page.getByText("Read from its files").waitFor(),
  },
  { name: "files", hash: `${TABLE}?tab=files`, ready: (page) => page.getByText("1 to 100 of 1,240").waitFor() },
  {
    name: "history",
    hash: `${TABLE}?tab=history`,
    ready: (page) => page.getByText("of another user").first().waitFor(),
  },
  { name: "ddl", hash: `${TABLE}?tab=ddl`, ready: (page) => page.getByText("PARTITIONED").first().waitFor() },
  { name: "lineage", hash: `${TABLE}?tab=lineage`, ready: (page) => page.locator(".lineage-node").nth(7).waitFor() },
  {
    name: "missing-table",
    hash: "#/tables/shop/none",
    ready: (page) => page.getByText("There is no such table").waitFor(),
  },
  { name: "worksheet", hash: "#/worksheet", ready: (page) => page.locator(".cm-content").waitFor() },
  {
    name: "completion",
    hash: "#/worksheet",
    ready: async (page) => {
      await type(page, "SELECT sub FROM shop.orders o WHERE o.amount > 1");
      await page.keyboard.press("Home");
      for (let step = 0; step < 10; step++) await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Control+Space");
      await page.getByText("part of a text").waitFor();
    },
  },
  {
    name: "rows",
    hash: "#/worksheet",
    ready: async (page) => {
      await type(page, "SELECT * FROM flights WHERE year = :year");
      await page.keyboard.press("Control+Enter");
      await page.getByText("5,000 rows ·").waitFor();
    },
  },
  {
    name: "error",
    hash: "#/worksheet",
    ready: async (page) => {
      await type(page, "SELECT 1;\nSELECT *\nFROM fligths;\nSELECT 3");
      await page.keyboard.press("Shift+Control+Enter");
      await page.getByText('Did you mean "flights"?').first().waitFor();
      expect(await page.locator(".cm-lintRange-error").textContent()).toBe("fligths");
    },
  },
  ...["SELECT day, count(*) GROUP BY day", "SELECT carrier, count(*) GROUP BY carrier", "SELECT * FROM flights"].map(
    (text, index) => ({
      name: `chart-${index + 1}`,
      hash: "#/worksheet",
      ready: async (page: Page) => {
        await type(page, text);
        await page.keyboard.press("Control+Enter");
        await page.getByText(/[\d,]+ rows · [\d.]+ m?s/).waitFor();
        await page.getByRole("button", { name: "Chart" }).click();
        await page.locator(".chart-frame canvas").waitFor();
      },
    }),
  ),
  {
    name: "palette",
    hash: "#/",
    ready: async (page) => {
      await page.getByText("Running now").waitFor();
      await page.keyboard.press("Control+k");
      await page.getByText("Recent queries").waitFor();
    },
  },
];

describe.each(LOOKS)("$name", (look) => {
  test.each(CASES)("$name", async ({ name, hash, cookie, ready }) => {
    const { page, context, problems } = await open(at, look, hash, cookie);
    await ready(page);
    await page.waitForTimeout(150);
    const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    const findings = await seriousFindings(page);
    await picture(page, `${name}-${look.name}`);
    await context.close();
    expect({ findings, problems, wide }).toEqual({ findings: [], problems: [], wide: 0 });
  });
});

test.each([
  "#/",
  "#/queries",
  "#/queries?tab=expensive",
  QUERY,
  `${QUERY}?operator=8`,
  `${QUERY}?tab=stages`,
  `${QUERY}?tab=decisions`,
  `${QUERY}/compare`,
  `${QUERY}/compare/2026-099991`,
])("markup in the data of %s stays text", async (hash) => {
  const { page, context, problems } = await open(at, LOOKS[0] as (typeof LOOKS)[0], hash, "hostile");
  await page.getByText("onerror").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.waitForTimeout(400);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(await page.locator("img").count()).toBe(0);
  expect(problems).toEqual([]);
  await context.close();
});

const HOSTILE_NAME = encodeURIComponent(
  `<img src=x onerror="window.hacked=1">"'><script>window.hacked=1</script>orders`,
);

test.each(["", "?tab=sample", "?tab=memory", "?tab=files", "?tab=history", "?tab=ddl", "?tab=lineage"])(
  "markup in the names and texts of a table stays text: %s",
  async (tab) => {
    const hash = `#/tables/shop/${HOSTILE_NAME}${tab}`;
    const { page, context, problems } = await open(at, LOOKS[0] as (typeof LOOKS)[0], hash, "hostile");
    await page.locator(".tables-main").getByText("onerror").first().waitFor();
    if (!tab) {
      await page.getByRole("button", { name: "Values of" }).nth(2).click();
      await page.getByText("Most frequent values").waitFor();
    }
    await page.waitForTimeout(300);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
  },
);

test("markup in completion stays text", async () => {
  const { page, context, problems } = await open(at, LOOKS[0] as (typeof LOOKS)[0], "#/worksheet", "hostile");
  await type(page, "SELECT * FROM shop.");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li").first().waitFor();
  await page.getByText("onerror").first().waitFor();
  await page.waitForTimeout(200);
  await page.keyboard.press("Tab");
  await page.waitForTimeout(300);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(await page.locator("img").count()).toBe(0);
  expect(problems).toEqual([]);
  await context.close();
});

test("markup in results and charts stays text", async () => {
  const { page, context, problems } = await open(at, LOOKS[0] as (typeof LOOKS)[0], "#/worksheet", "hostile");
  await type(page, "SELECT '<img src=x onerror=\"window.hacked=1\">'");
  await page.keyboard.press("Control+Enter");
  await page.locator(".grid-cell").first().waitFor();
  await page.locator(".grid-cell").first().dblclick();
  await page.locator("dialog pre").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Chart" }).click();
  await page.locator(".chart-frame canvas").waitFor();
  await page.waitForTimeout(300);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(await page.locator("img").count()).toBe(0);
  expect(problems).toEqual([]);
  await context.close();
});
