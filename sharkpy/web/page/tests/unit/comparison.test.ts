import { expect, test } from "vitest";
import { makeProfile, makeQueries } from "../../mock/data.ts";
import type { Query } from "../../src/api";
import {
  figuresOf,
  isSameText,
  operatorPairs,
  ratioOf,
  stagePairs,
  worstPlaces,
} from "../../src/pages/query/comparison";

const query = makeQueries(10, 1_800_000_000_000, false)[9] as Query;
const first = makeProfile(query);
const slower = {
  ...first,
  operators: first.operators.map((one) => ({
    ...one,
    kind: one.id === 9 ? "BlockScan" : one.kind,
    seconds: one.id === 5 ? 10 * (one.seconds ?? 0) : one.seconds,
  })),
};

test("operators are paired by their places, from the root down", () => {
  const pairs = operatorPairs(first, slower);
  expect(pairs[0]).toMatchObject({ place: "0", depth: 0 });
  expect(pairs.filter((pair) => pair.first && pair.second).every((pair) => pair.first?.id === pair.second?.id)).toBe(
    true,
  );
  const others = pairs.filter((pair) => !pair.first || !pair.second);
  expect(others.map((pair) => (pair.first ?? pair.second)?.id)).toEqual([9, 9]);
  expect(pairs.map((pair) => pair.place)).toEqual([...pairs.map((pair) => pair.place)].sort());
  expect(operatorPairs(null, null)).toEqual([]);
  expect(operatorPairs(first, null).every((pair) => pair.second === null)).toBe(true);
});

test("the places that grew most are marked", () => {
  const pairs = operatorPairs(first, slower);
  const marked = [...worstPlaces(pairs)].map((place) => pairs.find((pair) => pair.place === place)?.first?.id);
  expect(marked).toEqual([5]);
  expect(worstPlaces(operatorPairs(slower, first)).size).toBe(0);
});

test("stages without a partner stay", () => {
  const pairs = stagePairs(first, { ...first, stages: first.stages.slice(0, 1) });
  expect(pairs.map((pair) => [pair.first?.number, pair.second?.number])).toEqual([
    [1, 1],
    [2, undefined],
    [3, undefined],
    [4, undefined],
  ]);
});

test.each([
  [[2, 3], 1.5],
  [[0, 3], null],
  [[null, 3], null],
  [[3, null], null],
] as const)("ratio of %j", (values, ratio) => {
  expect(ratioOf(values)).toBe(ratio);
});

test("figures that both runs lack are left out", () => {
  const names = figuresOf({ ...query, rows_written: 0 }, { ...query, rows_written: null }).map((one) => one.name);
  expect(names).toContain("Time");
  expect(names).not.toContain("Rows written");
});

test.each([
  ["SELECT 1", "SELECT 1", true],
  ["SELECT 1", "SELECT 12", false],
  ["SELECT …", "SELECT 12", true],
  ["SELECT 2…", "SELECT 12", false],
])("%j is the text %j: %s", (listed, text, same) => {
  expect(isSameText(listed, text)).toBe(same);
});
