import { expect, test } from "vitest";
import { isQuery } from "../../src/pages/worksheet/download_rows";
import { bounded, type Run } from "../../src/pages/worksheet/run_history";

test.each([
  ["SELECT 1", true],
  ["-- rows\n (with a AS (SELECT 1) SELECT * FROM a)", true],
  ["/* all */ show tables", true],
  ["EXPLAIN ANALYZE INSERT INTO t SELECT 1", false],
  ["insert into t select 1", false],
  ["'select'", false],
  ["", false],
])("%s runs again for a file: %s", (text, expected) => {
  expect(isQuery(text)).toBe(expected);
});

test("the history is bounded", () => {
  const run = (text: string): Run => ({ text, at: 0, seconds: 1, rows: null, state: "finished", queryId: null });
  expect(bounded(Array.from({ length: 500 }, () => run("x")))).toHaveLength(200);
  const large = "x".repeat(150_000);
  expect(bounded([run(large), run(large), run(large)])).toHaveLength(2);
});
