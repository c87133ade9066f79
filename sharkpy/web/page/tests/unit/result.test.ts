import { expect, test } from "vitest";
import type { SqlError } from "../../src/api";
import { csvParts, tabbedText } from "../../src/pages/worksheet/delimited";
import { scrollTo, visibleRows } from "../../src/pages/worksheet/grid";
import { Answer, LineSplitter } from "../../src/pages/worksheet/json_lines";
import { kindOf, numberOf, ResultTable, secondsOf, sortedRows } from "../../src/pages/worksheet/result_table";
import { errorPlace, parameterValue } from "../../src/pages/worksheet/run_statement";
import { splitStatements } from "../../src/sql/tokens";

function table(columns: [string, string][], rows: unknown[][]): ResultTable {
  const made = new ResultTable(columns.map(([name, type]) => ({ name, type })));
  for (const row of rows) made.append(row);
  return made;
}

test("lines are put together from pieces", () => {
  const lines = new LineSplitter();
  expect(["[1", ",2]\n[3", "]\n\n[4]"].flatMap((piece) => lines.add(piece))).toEqual(["[1,2]", "[3]"]);
  expect(lines.end()).toEqual(["[4]"]);
  expect(lines.end()).toEqual([]);
});

test("an answer has columns, rows and a summary", () => {
  const answer = new Answer();
  answer.addLines([
    '{"query_id":"q","session_id":null,"columns":[{"name":"a","type":"int"},{"name":"error","type":"string"}]}',
  ]);
  answer.addLines(['[1,{"error":"a value"}]']);
  expect(answer.isWhole).toBe(false);
  answer.addLines(['{"rows":1,"seconds":0.5,"has_more":true,"rows_written":null}']);
  expect(answer.table?.value(0, 1)).toEqual({ error: "a value" });
  expect(answer.summary?.has_more).toBe(true);
  expect(answer.isWhole).toBe(true);
});

test("an error may come after rows", () => {
  const answer = new Answer();
  answer.addLines(['{"query_id":"q","session_id":null,"columns":[{"name":"a","type":"int"}]}']);
  answer.addLines(["[1]"]);
  answer.addLines(['{"error":{"message":"no memory","sqlstate":"53200","line":null,"column":null,"hint":null}}']);
  expect(answer.table?.length).toBe(1);
  expect(answer.error?.message).toBe("no memory");
});

test("types have kinds", () => {
  const kinds = ["bigint", "DECIMAL(10,2)", "timestamp", "date", "string", "array<int>", "interval day"];
  expect(kinds.map((type) => kindOf({ name: "", type }))).toEqual([
    "number",
    "number",
    "time",
    "time",
    ...Array(3).fill("category"),
  ]);
});

test("numbers and times come as text too", () => {
  expect([numberOf(1.5), numberOf("12.30"), numberOf("NaN"), numberOf(""), numberOf(null)]).toEqual([
    1.5,
    12.3,
    null,
    null,
    null,
  ]);
  expect(secondsOf("1970-01-02")).toBe(86_400);
  expect(secondsOf("1970-01-01 00:00:01.5")).toBe(1.5);
  expect(secondsOf("1970-01-01T00:00:01")).toBe(1);
  expect(secondsOf("nonsense")).toBeNull();
});

test("rows are sorted by value, with nulls last in both directions", () => {
  const made = table([["n", "decimal(9,2)"]], [["10.00"], [null], ["9.5"], ["-1"]]);
  expect([...sortedRows(made, { column: 0, descending: false })]).toEqual([3, 2, 0, 1]);
  expect([...sortedRows(made, { column: 0, descending: true })]).toEqual([0, 2, 3, 1]);
  const texts = table([["s", "string"]], [["b"], [null], ["B"], ["a"]]);
  expect([...sortedRows(texts, { column: 0, descending: false })]).toEqual([2, 3, 0, 1]);
});

test("CSV quotes what needs it, and tells null from an empty text", () => {
  const made = table(
    [
      ["a,b", "string"],
      ["c", "array<int>"],
    ],
    [
      ['say "hi"\n', [1, 2]],
      ["", null],
    ],
  );
  expect(csvParts(made, null).join("")).toBe('"a,b",c\r\n"say ""hi""\n","[1,2]"\r\n"",\r\n');
});

test("copied cells have tabs, in the shown order", () => {
  const made = table(
    [
      ["a", "int"],
      ["b", "string"],
    ],
    [
      [1, "x"],
      [2, "y\tz"],
    ],
  );
  const range = { fromRow: 0, toRow: 5, fromColumn: 0, toColumn: 1 };
  expect(tabbedText(made, Uint32Array.of(1, 0), range, true)).toBe('a\tb\n2\t"y\tz"\n1\tx');
});

test("a small table scrolls pixel by pixel, and a large one reaches its last row", () => {
  expect(visibleRows(1000, 0, 280)).toEqual({ first: 0, last: 16, top: 0 });
  const middle = visibleRows(1000, 2805, 280);
  expect([middle.first, middle.top]).toEqual([94, 94 * 28]);
  const rows = 1_000_000;
  expect(visibleRows(rows, 0, 280).first).toBe(0);
  const end = visibleRows(rows, 8_000_000 - 280, 280);
  expect(end.last).toBe(rows - 1);
  expect(end.top + (end.last - end.first + 1) * 28).toBeCloseTo(8_000_000, 0);
});

test("moving to a row scrolls as far as needed", () => {
  expect(scrollTo(3, 1000, 0, 280)).toBeNull();
  expect(scrollTo(10, 1000, 0, 280)).toBe(28);
  expect(scrollTo(0, 1000, 500, 280)).toBe(0);
  const top = scrollTo(999_999, 1_000_000, 0, 280) ?? 0;
  expect(visibleRows(1_000_000, top, 280).last).toBe(999_999);
});

test.each([
  ["", null],
  ["NULL", null],
  ["12", 12],
  ["-1.5e3", -1500],
  ["12345678901234567890", "12345678901234567890"],
  ["true", true],
  ["'12'", "12"],
  ["'it''s'", "it's"],
  ["two words", "two words"],
])("the parameter %j is %j", (typed, value) => expect(parameterValue(typed)).toBe(value));

test("an error's place is found in the worksheet", () => {
  const text = "SELECT 1;\n\nSELECT *\nFROM fligths WHERE x;";
  const statement = splitStatements(text)[1];
  if (!statement) throw new Error("no statement");
  const error: SqlError = { message: "", sqlstate: null, line: 2, column: 6, hint: null };
  const place = errorPlace(statement, error);
  expect(place && text.slice(place.from, place.to)).toBe("fligths");
  expect(errorPlace(statement, { ...error, line: 9 })).toBeNull();
  const line = errorPlace(statement, { ...error, column: null });
  expect(line && text.slice(line.from, line.to)).toBe("FROM fligths WHERE x");
});
