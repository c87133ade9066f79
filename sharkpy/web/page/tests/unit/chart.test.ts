import { expect, test } from "vitest";
import {
  type ChartChoice,
  chooseChart,
  gridOf,
  groupedBars,
  histogramOf,
  MOST_POINTS,
  pointsOf,
  roundWidth,
} from "../../src/pages/worksheet/chart_choice";
import { ResultTable } from "../../src/pages/worksheet/result_table";

function table(columns: [string, string][], rows: unknown[][]): ResultTable {
  const made = new ResultTable(columns.map(([name, type]) => ({ name, type })));
  for (const row of rows) made.append(row);
  return made;
}

const choice: ChartChoice = { kind: "bar", x: 0, y: 1, series: null, aggregate: "sum", bins: 10 };

test.each<[string, [string, string][], unknown[][], Partial<ChartChoice> | null]>([
  [
    "times and numbers",
    [
      ["n", "int"],
      ["day", "date"],
    ],
    [
      [1, "2013-01-01"],
      [2, "2013-01-02"],
    ],
    { kind: "line", x: 1, y: 0 },
  ],
  [
    "a category and numbers",
    [
      ["c", "string"],
      ["n", "double"],
    ],
    [
      ["a", 1],
      ["b", 2],
    ],
    { kind: "bar", x: 0, y: 1 },
  ],
  [
    "two categories",
    [
      ["c", "string"],
      ["d", "string"],
      ["n", "int"],
    ],
    [
      ["a", "x", 1],
      ["b", "y", 2],
    ],
    { kind: "bar", x: 0, series: 1, y: 2 },
  ],
  [
    "two categories with many values",
    [
      ["c", "string"],
      ["d", "string"],
      ["n", "int"],
    ],
    Array.from({ length: 20 }, (_, row) => [`a${row}`, `b${row % 8}`, 1]),
    { kind: "heat map", x: 0, series: 1, y: 2 },
  ],
  [
    "numbers",
    [
      ["id", "bigint"],
      ["a", "int"],
      ["b", "int"],
    ],
    [
      [1, 1, 1],
      [2, 2, 2],
    ],
    { kind: "scatter", x: 1, y: 2 },
  ],
  ["one number", [["a", "int"]], [[1], [2]], { kind: "histogram", x: 0 }],
  ["no number", [["a", "string"]], [["x"], ["y"]], null],
  ["one row", [["a", "int"]], [[1]], null],
])("a chart for %s", (_, columns, rows, expected) => {
  const chosen = chooseChart(table(columns, rows));
  if (expected === null) expect(chosen).toBeNull();
  else expect(chosen).toMatchObject(expected);
});

test("rows of equal x are put together", () => {
  const made = table(
    [
      ["c", "string"],
      ["n", "int"],
    ],
    [
      ["a", 1],
      ["b", 5],
      ["a", 3],
      [null, 7],
      ["b", null],
    ],
  );
  expect(gridOf(made, choice, true)).toEqual({
    xs: [0, 1, 2],
    labels: ["a", "b", "NULL"],
    series: [""],
    values: [[4, 5, 7]],
    left: 0,
  });
  expect(gridOf(made, { ...choice, aggregate: "mean" }, true).values).toEqual([[2, 5, 7]]);
  expect(gridOf(made, { ...choice, aggregate: "count" }, true).values).toEqual([[2, 2, 1]]);
});

test("series share one axis, with gaps", () => {
  const made = table(
    [
      ["day", "date"],
      ["n", "int"],
      ["s", "string"],
    ],
    [
      ["1970-01-02", 1, "a"],
      ["1970-01-01", 2, "b"],
      ["1970-01-02", 3, "b"],
    ],
  );
  const grid = gridOf(made, { ...choice, kind: "line", series: 2 }, false);
  expect(grid.xs).toEqual([0, 86_400]);
  expect(grid.series).toEqual(["a", "b"]);
  expect(grid.values).toEqual([
    [null, 1],
    [2, 3],
  ]);
});

test("too many groups are left out, and told", () => {
  const made = table(
    [
      ["c", "string"],
      ["n", "int"],
      ["s", "string"],
    ],
    Array.from({ length: 30 }, (_, row) => ["x", 1, `s${row}`]),
  );
  const grid = gridOf(made, { ...choice, series: 2 }, true);
  expect([grid.series.length, grid.left]).toEqual([10, 20]);
});

test("points are sampled evenly", () => {
  const made = table(
    [
      ["x", "int"],
      ["y", "int"],
    ],
    Array.from({ length: 100_000 }, (_, row) => [row, row]),
  );
  const points = pointsOf(made, { ...choice, kind: "scatter" });
  expect(points.xs[0]?.length).toBeLessThanOrEqual(MOST_POINTS + 1);
  expect(points.total).toBe(100_000);
  expect(points.xs[0]?.at(-1)).toBeGreaterThan(99_990);
});

test("a histogram counts all values in round bins", () => {
  const made = table(
    [
      ["x", "int"],
      ["y", "int"],
    ],
    Array.from({ length: 100 }, (_, row) => [row, 0]),
  );
  const { from, counts, width } = histogramOf(made, { ...choice, kind: "histogram" });
  expect(width).toBe(10);
  expect(from[0]).toBe(0);
  expect(counts).toEqual(Array(10).fill(10));
  expect(histogramOf(table([["x", "int"]], []), choice).counts).toEqual([]);
  expect(histogramOf(table([["x", "int"]], [[5], [5]]), choice).counts).toEqual([2]);
});

test("bins have round widths", () =>
  expect([0.9, 1.2, 2.2, 3, 7, 0.013].map(roundWidth)).toEqual([1, 2, 2.5, 5, 10, 0.02]));

test("bars of a second category are next to each other", () => {
  const grid = {
    xs: [0, 1],
    labels: ["a", "b"],
    series: ["x", "y"],
    values: [
      [1, 2],
      [3, null],
    ],
    left: 0,
  };
  const { xs, values } = groupedBars(grid);
  expect(xs).toEqual([-0.2, 0.2, 0.8, 1.2]);
  expect(values).toEqual([
    [1, null, 2, null],
    [null, 3, null, null],
  ]);
  expect(xs.map(Math.round).map(Math.abs)).toEqual([0, 0, 1, 1]);
});
