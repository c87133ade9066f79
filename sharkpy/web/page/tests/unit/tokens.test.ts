import { expect, test } from "vitest";
import { colouredLines, oneLineSql } from "../../src/parts/sql_text";
import { parameterNames, splitStatements, statementAt } from "../../src/sql/tokens";

const texts = (script: string) => splitStatements(script).map((statement) => statement.text);

test.each([
  ["SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]],
  ["SELECT 'a;b'; SELECT \"c;d\"", ["SELECT 'a;b'", 'SELECT "c;d"']],
  ["SELECT `a;b`", ["SELECT `a;b`"]],
  ["SELECT 'it\\';s'; x", ["SELECT 'it\\';s'", "x"]],
  ["-- one; two\nSELECT 1 -- end;\n; /* a; b */ ;;", ["SELECT 1 -- end;"]],
  ["SELECT /*+ MAPJOIN(t) */ 1", ["SELECT /*+ MAPJOIN(t) */ 1"]],
  ["SELECT a\\;b; c", ["SELECT a;b", "c"]],
  ["SELECT 'open; end", ["SELECT 'open; end"]],
  ["", []],
])("%j is split as the shell does", (script, statements) => expect(texts(script)).toEqual(statements));

test("a statement knows its place", () => {
  const script = "SELECT 1;\n\nSELECT 2;\n";
  expect(splitStatements(script).map(({ from, to }) => script.slice(from, to))).toEqual(["SELECT 1", "SELECT 2"]);
  expect(statementAt(script, 3)?.text).toBe("SELECT 1");
  expect(statementAt(script, 10)?.text).toBe("SELECT 2");
  expect(statementAt(script, script.length)?.text).toBe("SELECT 2");
  expect(statementAt("", 0)).toBeUndefined();
});

test("parameters are found outside of texts, casts and fields", () => {
  const statement = "SELECT :a, ':no', x::int, m[1]:no, `:no`, -- :no\n :b + :a, '12:30'";
  expect(parameterNames(statement)).toEqual(["a", "b"]);
});

test("pieces have the classes of their kinds, line by line", () => {
  const lines = colouredLines("SELECT 1\nFROM t -- x");
  expect(lines.map((line) => line.map((piece) => piece.text).join(""))).toEqual(["SELECT 1", "FROM t -- x"]);
  expect(lines[0]?.[0]).toEqual({ text: "SELECT", kind: "keyword" });
  expect(lines[1]?.at(-1)?.kind).toBe("comment");
});

test("a statement on one line has no comments", () => {
  expect(oneLineSql("-- why\nSELECT 'a  b' /* how */\nFROM t")).toBe("SELECT 'a b' FROM t");
  expect(oneLineSql("-- only this")).toBe("-- only this");
});

test("a long text takes little time", () => {
  const started = performance.now();
  splitStatements("SELECT 'a' + :b; ".repeat(20_000));
  expect(performance.now() - started).toBeLessThan(3000);
});
