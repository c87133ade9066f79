import { expect, test } from "vitest";
import { makeQueries } from "../../mock/data.ts";
import { apiParameters, mergeChanged, readFilters, writeFilters } from "../../src/pages/queries/filters";
import { decoded, parsePlace, placeText } from "../../src/router";

const usual = readFilters(new URLSearchParams());

test("filters survive the page's address", () => {
  const filters = {
    ...usual,
    state: "failed" as const,
    user: "ada & co",
    text: "a=b?#c",
    sort: "seconds" as const,
    descending: false,
    cursor: "x/+",
  };
  const place = parsePlace(placeText("/queries", writeFilters(filters)));
  expect(place.path).toBe("/queries");
  expect(readFilters(place.parameters)).toEqual(filters);
  expect(writeFilters(usual).toString()).toBe("");
});

test("parts of paths are decoded if they can be", () => {
  expect([decoded("a%2Fb"), decoded("100%")]).toEqual(["a/b", "100%"]);
});

test("an address with nonsense has the usual filters", () => {
  expect(readFilters(new URLSearchParams("state=toString&span=constructor&sort=__proto__"))).toEqual(usual);
});

test("the API gets states and times", () => {
  const parameters = apiParameters({ ...usual, state: "active", span: "1h" }, Date.parse("2026-01-01T12:00:00Z"));
  expect(parameters.getAll("state")).toEqual(["queued", "running", "waiting"]);
  expect(parameters.get("since")).toBe("2026-01-01T11:00:00.000Z");
  expect(parameters.has("until")).toBe(false);
});

test("changed queries replace shown ones, and new ones come first", () => {
  const [first, second, third] = makeQueries(12, Date.now());
  if (!first || !second || !third) throw new Error("no queries");
  const ended = { ...third, state: "finished" as const };
  expect(mergeChanged([second, third], [ended, first], usual)).toEqual([first, second, ended]);
  expect(mergeChanged([second], [first], { ...usual, sort: "seconds" })).toEqual([second]);
  expect(mergeChanged([second], [first], { ...usual, state: "failed" })).toEqual([second]);
});

test("a late event does not make an ended query run again", () => {
  const [query] = makeQueries(1, Date.now());
  if (!query) throw new Error("no query");
  const ended = { ...query, state: "finished" as const };
  expect(mergeChanged([ended], [{ ...query, state: "running" }], usual)).toEqual([ended]);
});
