import { expect, test } from "vitest";
import {
  boundText,
  histogramOf,
  histogramStatement,
  sampleStatement,
  topStatement,
  topValues,
} from "../../src/pages/tables/column_values";
import { commonFolder } from "../../src/pages/tables/files_tab";
import { drawLineage, NODE_WIDTH } from "../../src/pages/tables/lineage_layout";
import { listRows } from "../../src/pages/tables/table_list";
import { ResultTable } from "../../src/pages/worksheet/result_table";

const DATABASES = [
  { name: "many", comment: null, num_tables: 5000, is_system: false },
  { name: "shop", comment: null, num_tables: 2, is_system: false },
  { name: "sys", comment: null, num_tables: 1, is_system: true },
];
const TABLES = [
  ...Array.from({ length: 5000 }, (_, index) => ({ database: "many", name: `t${index}`, kind: "table" })),
  { database: "shop", name: "orders", kind: "table" },
  { database: "shop", name: "odd name", kind: "view" },
  { database: "sys", name: "queries", kind: "system table" },
];

const names = (filter: string, opened = new Map<string, boolean>()) =>
  listRows(DATABASES, TABLES, filter, opened).map((row) => (row.kind === "table" ? row.table.name : row.database.name));

test("small databases are open at first, and a filter opens all", () => {
  expect(names("")).toEqual(["many", "shop", "orders", "odd name", "sys"]);
  expect(names("", new Map([["shop", false]]))).toEqual(["many", "shop", "sys"]);
  expect(names("", new Map([["many", true]]))).toHaveLength(5005);
  expect(names(" T4999 ")).toEqual(["many", "t4999"]);
  expect(names("shop.o")).toEqual(["shop", "orders", "odd name"]);
  expect(names("nothing")).toEqual([]);
});

const lineageTable = (name: string, step: number) => ({ database: "d", name, kind: "table", step });
const edge = (source: string, target: string) => ({
  source: `d.${source}`,
  target: `d.${target}`,
  by: "view",
  statement: null,
  user: null,
  query_id: null,
  time: null,
});

test("lineage has a column for each step, without boxes over each other", () => {
  const picture = drawLineage({
    tables: [
      lineageTable("own", 0),
      ...["a", "b", "c"].map((name) => lineageTable(name, -1)),
      lineageTable("z", -2),
      lineageTable("x", 1),
    ],
    edges: [edge("a", "own"), edge("b", "own"), edge("c", "own"), edge("z", "c"), edge("own", "x"), edge("gone", "x")],
  });
  expect(picture.links).toHaveLength(5);
  const at = new Map(picture.nodes.map((node) => [node.table.name, node]));
  const x = (name: string) => at.get(name)?.x ?? Number.NaN;
  expect(x("z")).toBeLessThan(x("a") - NODE_WIDTH);
  expect(x("a")).toBe(x("b"));
  expect(x("own")).toBeLessThan(x("x") - NODE_WIDTH);
  expect(new Set(picture.nodes.map((node) => `${node.x} ${node.y}`)).size).toBe(6);
  expect(drawLineage({ tables: [], edges: [] })).toMatchObject({ nodes: [], links: [] });
});

test("a table is behind all tables that its rows come from", () => {
  const picture = drawLineage({
    tables: [
      lineageTable("own", 0),
      lineageTable("a", 1),
      lineageTable("b", 1),
      lineageTable("before", -1),
      lineageTable("p", -1),
    ],
    edges: [
      edge("own", "a"),
      edge("own", "b"),
      edge("b", "a"),
      edge("before", "own"),
      edge("p", "own"),
      edge("p", "before"),
    ],
  });
  const x = (name: string) => picture.nodes.find((node) => node.table.name === name)?.x ?? Number.NaN;
  expect([x("p"), x("before"), x("own"), x("b"), x("a")]).toEqual([20, 304, 588, 872, 1156]);
  const circle = drawLineage({
    tables: [lineageTable("own", 0), lineageTable("a", 1), lineageTable("b", 1)],
    edges: [edge("own", "a"), edge("a", "b"), edge("b", "a"), edge("b", "own")],
  });
  expect(circle.links).toHaveLength(4);
  expect(circle.width).toBeLessThan(5000);
});

test("links of two rows that are the wrong way round are untangled", () => {
  const picture = drawLineage({
    tables: [lineageTable("a", 0), lineageTable("b", 0), lineageTable("ofB", 1), lineageTable("ofA", 1)],
    edges: [edge("a", "ofA"), edge("b", "ofB")],
  });
  const y = (name: string) => picture.nodes.find((node) => node.table.name === name)?.y ?? 0;
  expect(Math.sign(y("a") - y("b"))).toBe(Math.sign(y("ofA") - y("ofB")));
});

test("names in statements are quoted", () => {
  const table = { database: "my db", name: "a`b" };
  expect(sampleStatement(table)).toBe("SELECT * FROM `my db`.`a``b` LIMIT 100");
  expect(topStatement(table, "select")).toContain("SELECT `select` AS v FROM `my db`.`a``b`");
  expect(histogramStatement(table, { name: "x", type: "decimal(10,2)" })).toContain("CAST(`x` AS DOUBLE)");
  expect(histogramStatement(table, { name: "x", type: "date" })).toContain("datediff");
  expect(histogramStatement(table, { name: "x", type: "string" })).toBeNull();
});

function tableOf(...rows: unknown[][]): ResultTable {
  const table = new ResultTable((rows[0] ?? []).map((_, index) => ({ name: `${index}`, type: "double" })));
  for (const row of rows) table.append(row);
  return table;
}

test("the greatest value is in the last interval, and one value is no histogram", () => {
  const histogram = histogramOf(tableOf([0, "5", 0, 48], [24, "1", 0, 48], [3, 2, 0, 48]));
  expect(histogram).toMatchObject({ low: 0, high: 48 });
  expect(histogram?.rows[0]).toBe(5);
  expect(histogram?.rows[3]).toBe(2);
  expect(histogram?.rows[23]).toBe(1);
  expect(histogramOf(tableOf([null, 7, 3, 3]))).toBeNull();
  expect(topValues(tableOf(["a", "7"], [null, 3]))).toEqual([
    { value: "a", rows: 7 },
    { value: null, rows: 3 },
  ]);
});

test("bounds are shown as the column's type", () => {
  expect(boundText(86_400 * 19_723, "date")).toBe("2024-01-01");
  expect(boundText(1_704_067_199, "timestamp")).toBe("2023-12-31 23:59:59");
  expect(boundText(1234.5, "double")).toBe("1,234.5");
});

test("the folder of files is what all paths begin with", () => {
  expect(commonFolder(["/w/a/x/1.parquet", "/w/a/y/2.parquet"])).toBe("/w/a/");
  expect(commonFolder(["/w/a/1.parquet"])).toBe("/w/a/");
  expect(commonFolder([])).toBe("");
});
