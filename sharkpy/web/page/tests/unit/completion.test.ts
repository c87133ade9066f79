import { expect, test } from "vitest";
import { type Known, offersAt, quoted } from "../../src/sql/completion";
import { pathAt, pathOffers } from "../../src/sql/paths";
import { scopeAt } from "../../src/sql/scope";

const COLUMNS: Record<string, string[]> = {
  "default.sales": ["id", "amount", "order", "näme"],
  "default.shops": ["shop_id", "city"],
  "web.clicks": ["url", "at"],
  "default.odd name": ["a b"],
};

const KNOWN: Known = {
  databases: ["default", "web", "my db"],
  tables: Object.keys(COLUMNS).map((key) => {
    const [database = "", name = ""] = key.split(".");
    return { database, name, kind: "table" };
  }),
  functions: [
    { name: "substr", kind: "function", usage: "substr(text, from[, length])", doc: "part of a text" },
    { name: "sum", kind: "aggregate", usage: "sum(x)", doc: "sum" },
    { name: "read_parquet", kind: "function", usage: "read_parquet(path)", doc: "rows of files" },
    { name: "web.host", kind: "user's function", usage: "web.host(url string)", doc: "" },
  ],
  columns: async (database, name) =>
    (COLUMNS[`${database}.${name}`] ?? []).map((column) => ({ name: column, type: "string", comment: null })),
};

/** Offers at the mark `|`, of one kind or all. */
async function at(marked: string, kind?: string): Promise<string[]> {
  const position = marked.indexOf("|");
  const found = await offersAt(marked.replace("|", ""), position, KNOWN);
  return (found?.offers ?? []).filter((one) => !kind || one.kind === kind).map((one) => one.text);
}

test.each([
  ["SELECT * FROM |", ["sales", "shops", "`odd name`"]],
  ["SELECT * FROM sa|", ["sales", "shops", "`odd name`"]],
  ["SELECT * FROM sales, |", ["sales", "shops", "`odd name`"]],
  ["SELECT * FROM sales JOIN |", ["sales", "shops", "`odd name`"]],
  ["SELECT * FROM sales s LEFT JOIN (SELECT * FROM |", ["sales", "shops", "`odd name`"]],
  ["SELECT * FROM web.|", ["clicks"]],
  ["SELECT * FROM web.cl|", ["clicks"]],
  ["USE web; SELECT * FROM |", ["clicks"]],
  ["USE `my db`; SELECT * FROM |", []],
  ["WITH c AS (SELECT 1 AS x) SELECT * FROM |", ["c", "sales", "shops", "`odd name`"]],
  ["INSERT INTO |", ["sales", "shops", "`odd name`"]],
  ["INSERT OVERWRITE TABLE |", ["sales", "shops", "`odd name`"]],
  ["DESCRIBE |", ["sales", "shops", "`odd name`"]],
  ["DROP TABLE IF EXISTS |", ["sales", "shops", "`odd name`"]],
  ["SHOW CREATE TABLE |", ["sales", "shops", "`odd name`"]],
  ["MERGE INTO sales USING |", ["sales", "shops", "`odd name`"]],
  ["SELECT 1; SELECT * FROM |; SELECT 2", ["sales", "shops", "`odd name`"]],
  ["CREATE TABLE |", []],
  ["SELECT EXTRACT(year FROM |", []],
  ["SELECT a IS DISTINCT FROM |", []],
])("tables in %s", async (text, expected) => expect(await at(text, "table")).toEqual(expected));

const SALES = ["id", "amount", "`order`", "näme"];

test.each([
  ["SELECT | FROM sales", SALES],
  ["SELECT t.| FROM sales t JOIN shops s ON t.id = s.shop_id", SALES],
  ["SELECT T.am| FROM sales t", SALES],
  ["SELECT s.| FROM sales t JOIN shops AS s ON t.id = s.shop_id", ["shop_id", "city"]],
  ["SELECT * FROM sales t JOIN shops s ON t.id = s.|", ["shop_id", "city"]],
  ["SELECT sales.| FROM sales", SALES],
  ["SELECT x.| FROM sales t", []],
  ["SELECT c.| FROM web.clicks c", ["url", "at"]],
  ["SELECT web.clicks.| FROM web.clicks", ["url", "at"]],
  ["SELECT `odd name`.| FROM `odd name`", ["`a b`"]],
  ["SELECT `a|` FROM `odd name`", ["`a b`"]],
  ["SELECT count(|) FROM shops", ["shop_id", "city"]],
  ["SELECT * FROM shops WHERE |", ["shop_id", "city"]],
  ["SELECT city FROM shops GROUP BY |", ["shop_id", "city"]],
  ["SELECT * FROM shops WHERE city IN (SELECT | FROM web.clicks)", ["url", "at", "shop_id", "city"]],
  ["SELECT * FROM (SELECT | FROM web.clicks) x JOIN shops", ["url", "at"]],
  ["SELECT q.| FROM (SELECT id, amount * 2 AS twice, city c FROM sales, shops) q", ["id", "twice", "c"]],
  ["SELECT q.| FROM (SELECT s.*, 1 AS one FROM shops s, sales) q", ["one", "shop_id", "city"]],
  ["WITH c AS (SELECT url, count(*) AS n FROM web.clicks GROUP BY url) SELECT | FROM c", ["url", "n"]],
  ["WITH c (a, b) AS (SELECT 1, 2), d AS (SELECT * FROM c) SELECT d.| FROM d", ["a", "b"]],
  ["SELECT url FROM web.clicks UNION ALL SELECT | FROM shops", ["shop_id", "city"]],
  ["SELECT | FROM shops UNION ALL SELECT url FROM web.clicks", ["shop_id", "city"]],
  ["SELECT e.| FROM sales LATERAL VIEW explode(x) e AS item, place", ["item", "place"]],
  ["INSERT INTO shops (|) VALUES (1)", ["shop_id", "city"]],
  ["INSERT INTO TABLE web.clicks (url, |", ["url", "at"]],
  ["UPDATE shops SET | = 1", ["shop_id", "city"]],
  ["FROM shops INSERT INTO sales SELECT |", ["shop_id", "city"]],
  ["SELECT | FROM none", []],
])("columns in %s", async (text, expected) => expect(await at(text, "column")).toEqual(expected));

test.each([
  "SELECT 'FROM |",
  "SELECT 'a|b' FROM sales",
  'SELECT "x |',
  "SELECT 1 -- FROM |",
  "-- |",
  "/* FROM | */ SELECT 1",
  "SELECT 'it\\'s | ' FROM sales",
  "SELECT 12|",
  "SELECT :par|",
  "SELECT 1 AS |",
  "SELECT a.b.c.| FROM sales",
  "SELECT (1).| FROM sales",
])("nothing in %s", async (text) => expect(await at(text)).toEqual([]));

test("after a text or a comment, names are offered again", async () => {
  expect(await at("SELECT 'x', | FROM shops", "column")).toEqual(["shop_id", "city"]);
  expect(await at("SELECT /* x */| FROM shops", "column")).toEqual(["shop_id", "city"]);
  expect(await at("SELECT 1 -- x\n, | FROM shops", "column")).toEqual(["shop_id", "city"]);
});

test("words are offered where no name fits, in the case of the words before", async () => {
  expect(await at("|", "keyword")).toContain("SELECT");
  expect(await at("SELECT * FROM sales |", "keyword")).toContain("WHERE");
  expect(await at("SELECT * FROM sales |", "column")).toEqual([]);
  expect(await at("select * from sales t wh|", "keyword")).toContain("where");
  expect(await at("SELECT amount |", "function")).toEqual([]);
  expect(await at("SELECT CAST(x AS |", "type")).toContain("BIGINT");
  expect(await at("USE |")).toEqual(["default", "web", "`my db`"]);
  expect(await at("SHOW TABLES IN |")).toEqual(["default", "web", "`my db`"]);
});

test("functions have their usage", async () => {
  const found = await offersAt("SELECT su", 9, KNOWN);
  const substr = found?.offers.find((one) => one.label === "substr");
  expect(substr).toMatchObject({ text: "substr(", info: "substr(text, from[, length])\npart of a text" });
  expect(await at("SELECT web.|", "function")).toEqual(["host("]);
  expect(await at("SELECT * FROM |", "function")).toEqual(["read_parquet("]);
});

test("a name is quoted if it needs it", () => {
  expect(quoted("plain_1")).toBe("plain_1");
  expect(quoted("überall")).toBe("überall");
  expect(quoted("1st")).toBe("`1st`");
  expect(quoted("select")).toBe("`select`");
  expect(quoted("a`b")).toBe("`a``b`");
  expect(quoted("<b>")).toBe("`<b>`");
});

test("a quoted name is replaced as a whole", () => {
  const text = "SELECT * FROM `od`";
  expect(scopeAt(text, 17)).toMatchObject({ from: 15, replaced: { from: 14, to: 18 }, isQuoted: true });
  expect(scopeAt("SELECT * FROM `od", 17)).toMatchObject({ from: 15, replaced: { from: 14, to: 17 } });
});

test("a long script takes little time", () => {
  const script = `${"SELECT a, b FROM t WHERE c = 'x';\n".repeat(3000)}SELECT | FROM sales`;
  const started = performance.now();
  scopeAt(script.replace("|", ""), script.indexOf("|"));
  expect(performance.now() - started).toBeLessThan(3000);
});

/** The path at the mark `|` and what is wanted there, or null. */
function pathIn(marked: string): [string, string] | null {
  const found = pathAt(marked.replace("|", ""), marked.indexOf("|"));
  return found && [found.wanted, found.path];
}

test.each<[string, string, string]>([
  ["SELECT * FROM '|", "data", ""],
  ["SELECT * FROM '|'", "data", ""],
  ['SELECT * FROM "data/s|"', "data", "data/s"],
  ["SELECT * FROM 'a.csv' a JOIN 'b|' b ON a.x = b.x", "data", "b"],
  ["SELECT * FROM 'a.csv' x, 'b|'", "data", "b"],
  ["SELECT * FROM (SELECT * FROM 'a|') x", "data", "a"],
  ["SELECT 1; SELECT * FROM 'it\\'s|", "data", "it's"],
  ["DESCRIBE 'a|'", "data", "a"],
  ["SUMMARIZE 'a|'", "data", "a"],
  ["SELECT * FROM csv.`a b|`", "file", "a b"],
  ["SELECT * FROM t JOIN parquet.`|", "file", ""],
  ["SELECT * FROM `/data/a``|`", "data", "/data/a`"],
  ["SELECT * FROM read_csv('a|', header = true)", "file", "a"],
  ["SELECT * FROM read_json(['a.json', 'b|'])", "file", "b"],
  ["CREATE TABLE t (a INT) LOCATION 'd|'", "folder", "d"],
  ["ALTER TABLE t SET LOCATION 'd|'", "folder", "d"],
  ["CREATE TABLE t LIKE PARQUET 'd|'", "file", "d"],
  ["CREATE TABLE t LIKE FILE ORC 'd|'", "file", "d"],
  ["CREATE TABLE t USING csv OPTIONS (path 'd|')", "file", "d"],
  ["LOAD DATA LOCAL INPATH 'd|' INTO TABLE t", "file", "d"],
  ["CREATE STREAM s (a INT) STORED AS JSONFILE FROM FOLDER 'i|'", "folder", "i"],
  ["CREATE CONTINUOUS SINK s TO FOLDER 'o|' AS SELECT 1", "folder", "o"],
  ["INSERT OVERWRITE LOCAL DIRECTORY 'o|' SELECT 1", "folder", "o"],
  ["EXPORT TABLE t TO 'o|'", "folder", "o"],
  ["IMPORT TABLE t FROM 'o|'", "folder", "o"],
])("a path in %s", (text, wanted, path) => expect(pathIn(text)).toEqual([wanted, path]));

test.each([
  "SELECT 'a|'",
  "SELECT * FROM t WHERE x = 'a|'",
  "SELECT * FROM 'a.csv'|",
  "SELECT * FROM 'a.csv' WHERE x IN ('a', 'b|')",
  "SELECT * FROM a, b WHERE concat(x, 'b|')",
  "SELECT EXTRACT(year FROM '2|')",
  "SELECT x IS DISTINCT FROM 'a|'",
  "SELECT trim(BOTH 'x' FROM 'a|')",
  "SELECT read_csv.x, 'a|'",
  "SELECT * FROM read_csv('a.csv', delim = '|')",
  "SELECT * FROM read_csv(['a.csv'], '|')",
  "SELECT * FROM sal`|`",
  "SELECT * FROM `sal|`",
  "SELECT csv.`a|` FROM csv",
  "SHOW COLUMNS FROM 'a|'",
  "INSERT INTO 'a|'",
  "DELETE FROM 'a|'",
  "-- FROM 'a|'",
  "COMMENT 'FROM \\'a|",
  "SELECT * FROM t; 'a|'",
])("no path in %s", (text) => expect(pathIn(text)).toBeNull());

test("files and folders continue a path, with the escapes of their text", () => {
  const file = (name: string, format: string | null) => ({ name, is_folder: false, bytes: 2048, format });
  const entries = [
    { name: "it's", is_folder: true, bytes: null, format: null },
    file("a\\'b`.csv", "csv"),
    file("notes", null),
  ];
  const offers = (text: string) => {
    const place = pathAt(text, text.length);
    return place && pathOffers(place, entries).map((one) => one.text);
  };
  expect(offers("SELECT * FROM 'x/")).toEqual(["it\\'s/", "a\\\\\\'b`.csv"]);
  expect(offers('SELECT * FROM "')).toEqual(["it's/", "a\\\\'b`.csv"]);
  expect(offers("SELECT * FROM text.`")).toEqual(["it's/", "a\\'b``.csv", "notes"]);
  expect(offers("CREATE TABLE t (a INT) LOCATION '")).toEqual(["it\\'s/"]);
  const place = pathAt("SELECT * FROM 'x/y", 18);
  expect(place).toMatchObject({ from: 17, path: "x/y" });
  expect(place && pathOffers(place, entries)[1]).toMatchObject({ label: "a\\'b`.csv", detail: "csv, 2.00 KiB" });
});
