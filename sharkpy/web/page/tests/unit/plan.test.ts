import { expect, test } from "vitest";
import { makeLargeProfile, makeProfile, makeQueries } from "../../mock/data.ts";
import type { Operator } from "../../src/api";
import { condensed } from "../../src/pages/query/bars";
import { figureText } from "../../src/pages/query/decisions_view";
import {
  BOX_HEIGHT,
  BOX_WIDTH,
  detailOf,
  drawPlan,
  edgeWidth,
  findOperators,
  heatOf,
  skewOf,
} from "../../src/pages/query/plan_layout";
import { neighbour } from "../../src/pages/query/plan_view";
import { stageSpans } from "../../src/pages/query/stage_spans";
import { workerRows } from "../../src/pages/query/timeline";

const [query] = makeQueries(1, Date.parse("2026-01-01T00:00:00Z"));
if (!query) throw new Error("no query");
const profile = makeProfile(query);
const large = makeLargeProfile(query, 500);

function operator(id: number, children: number[]): Operator {
  return {
    ...{ id, children, stage: 1, kind: "Project", label: "", rows: 1, bytes: null, seconds: null },
    ...{ blocks_read: null, blocks_pruned: null, notes: [] },
  };
}

test("children are below their parents, and no boxes overlap", () => {
  const { boxes } = drawPlan(large);
  expect(boxes).toHaveLength(500);
  for (const box of boxes) for (const child of box.children) expect(child.y).toBeGreaterThan(box.y + BOX_HEIGHT);
  for (const y of new Set(boxes.map((box) => box.y))) {
    const row = boxes.filter((box) => box.y === y);
    const sorted = row.map((box) => box.x).sort((a, b) => a - b);
    for (const [index, x] of sorted.entries()) expect(x - (sorted[index - 1] ?? -1000)).toBeGreaterThan(BOX_WIDTH);
  }
});

test("500 operators are laid out at once", () => {
  const started = performance.now();
  drawPlan(large);
  expect(performance.now() - started).toBeLessThan(1000);
});

test("a plan of 5,000 operators in a row does not exhaust the stack", () => {
  const operators = Array.from({ length: 5_000 }, (_, id) => operator(id, id < 4_999 ? [id + 1] : []));
  expect(drawPlan({ root: 0, operators, stages: [] }).boxes).toHaveLength(5_000);
});

test("an exchange with two readers is drawn once, with two edges", () => {
  const operators = [operator(0, [1, 2]), operator(1, [3]), operator(2, [3]), operator(3, [])];
  const { boxes, edges } = drawPlan({ root: 0, operators, stages: [] });
  expect(boxes).toHaveLength(4);
  expect(edges).toHaveLength(4);
});

test("a circle and an unknown child end", () => {
  const operators = [operator(0, [1, 77]), operator(1, [0])];
  expect(drawPlan({ root: 0, operators, stages: [] }).boxes).toHaveLength(2);
  expect(drawPlan({ root: null, operators, stages: [] }).boxes).toEqual([]);
});

test("exchanges show their skew", () => {
  const skews = drawPlan(profile).edges.filter((edge) => edge.isExchange);
  expect(skews.map((edge) => [edge.from.operator.id, edge.to.operator.id])).toEqual([
    [4, 3],
    [7, 6],
    [10, 9],
  ]);
  expect(skews[1]?.skew).toBeGreaterThan(10);
});

test("figures of the drawing", () => {
  expect([0, 0.02, 0.1, 0.2, 0.9].map((time) => heatOf(time, 1))).toEqual([0, 1, 2, 3, 5]);
  expect(heatOf(0, 0)).toBe(0);
  expect(edgeWidth(1_000_000)).toBeGreaterThan(edgeWidth(10));
  expect(edgeWidth(null)).toBe(edgeWidth(1));
  expect([skewOf([]), skewOf([5]), skewOf(null), skewOf([1, 2, 20])]).toEqual([null, null, null, 10]);
  expect(condensed([1, 9, 2, 3, 4], 3)).toEqual([9, 3, 4]);
  expect([figureText("bucket_bytes", 1024), figureText("seconds", 2), figureText("rows", 12_345)]).toEqual([
    "1.00 KiB",
    "2.00 s",
    "12,345",
  ]);
  expect(figureText("limit", 33_554_432, ["right bytes estimated", "limit"])).toBe("32.0 MiB");
  expect(figureText("limit", 2_000, ["rows", "limit"])).toBe("2,000");
});

test("operators are found by words, the slowest first", () => {
  const { boxes } = drawPlan(profile);
  expect(findOperators(boxes, "scan").map((box) => box.operator.id)).toEqual([8, 10]);
  expect(findOperators(boxes, "SCAN planes")).toHaveLength(1);
  expect(findOperators(boxes, "  ")).toEqual([]);
});

test("arrow keys follow the tree", () => {
  const { byId } = drawPlan(profile);
  const join = byId.get(5);
  if (!join) throw new Error("no join");
  expect(neighbour(join, "ArrowUp")?.operator.id).toBe(4);
  const below = neighbour(join, "ArrowDown");
  if (!below) throw new Error("nothing below");
  expect(neighbour(below, "ArrowRight") ?? neighbour(below, "ArrowLeft")).toBeDefined();
});

test("stages begin at the first start", () => {
  const { spans, total } = stageSpans(profile.stages);
  expect(spans.map((span) => span.stage.number)).toEqual([1, 2, 3, 4]);
  expect(spans[0]?.from).toBe(0);
  expect(total).toBeCloseTo(3.72, 2);
  expect(stageSpans([]).spans).toEqual([]);
});

test("loads of tables come before the stages", () => {
  const { spans, loadSpans, total } = stageSpans(profile.stages, profile.loads);
  expect(loadSpans.map(({ load, from }) => [load.blocks, from])).toEqual([[12, 0]]);
  expect(spans[0]?.from).toBeCloseTo(0.026, 3);
  expect(total).toBeCloseTo(3.746, 3);
  expect(stageSpans([], profile.loads).total).toBeCloseTo(0.026, 3);
});

test.each([
  ["HashJoin", "HashJoin inner on a#1 = b#2", "inner on a = b"],
  ["SortOperator", "Sort [n#24 DESC]", "[n DESC]"],
  ["Limit", "first 100 rows", "first 100 rows"],
  ["Union", "Union", ""],
])("the label of %s is not its kind again", (kind, label, detail) => {
  expect(detailOf({ kind, label })).toBe(detail);
});

test("tasks are in the rows of their workers, without overlaps in a lane", () => {
  const { rows, total } = workerRows(profile.stages);
  const tasks = profile.stages.reduce((sum, stage) => sum + stage.worker_per_task.length, 0);
  const drivers = profile.stages.filter((stage) => stage.placement === "driver").length;
  expect(rows.reduce((sum, row) => sum + row.blocks.length, 0)).toBe(tasks + drivers);
  for (const row of rows) {
    for (let lane = 0; lane < row.lanes; lane++) {
      const blocks = row.blocks.filter((block) => block.lane === lane);
      for (const [place, block] of blocks.entries()) {
        const before = blocks[place - 1];
        if (before) expect(block.from).toBeGreaterThanOrEqual(before.from + before.seconds - 0.001);
        expect(block.from + block.seconds).toBeLessThanOrEqual(total + 1e-9);
      }
    }
  }
  expect(rows.flatMap((row) => row.blocks).filter((block) => block.attempt > 0)).toHaveLength(1);
  expect(workerRows([]).rows).toEqual([]);
});
