/** Differences between two runs of a text: figures, stages, and operators by their place in the plan. */
import type { Operator, Profile, Query, Stage } from "../../api";

export interface Figure {
  name: string;
  unit: "seconds" | "count" | "bytes";
  values: readonly [number | null, number | null];
  /** Whether less is better; rows that are returned are only facts. */
  isCost: boolean;
}

const FIGURES: readonly [string, keyof Query, Figure["unit"], boolean][] = [
  ["Time", "seconds", "seconds", true],
  ["Planning", "planning_seconds", "seconds", true],
  ["Queued", "queued_seconds", "seconds", true],
  ["Running", "running_seconds", "seconds", true],
  ["CPU", "cpu_seconds", "seconds", true],
  ["Rows read", "rows_read", "count", true],
  ["Rows returned", "rows_returned", "count", false],
  ["Rows written", "rows_written", "count", false],
  ["Bytes read", "bytes_read", "bytes", true],
  ["Blocks read", "blocks_read", "count", true],
  ["Blocks pruned", "blocks_pruned", "count", false],
  ["Spilled", "bytes_spilled", "bytes", true],
  ["Peak memory", "peak_bytes", "bytes", true],
];

export function figuresOf(first: Query, second: Query): Figure[] {
  return FIGURES.map(([name, field, unit, isCost]) => ({
    name,
    unit,
    isCost,
    values: [first[field] as number | null, second[field] as number | null] as const,
  })).filter(({ values }) => values.some((value) => value != null && value !== 0));
}

/** The second value against the first one, or null if one is missing or the first is 0. */
export function ratioOf(values: readonly [number | null, number | null]): number | null {
  const [first, second] = values;
  return first == null || second == null || first === 0 ? null : second / first;
}

export interface Pair<Item> {
  /** Place in the plan, from the root: "0.1.0". */
  place: string;
  depth: number;
  first: Item | null;
  second: Item | null;
}

/** Operators of two plans by their places. At a place with different kinds, each plan has its own row. */
export function operatorPairs(first: Profile | null, second: Profile | null): Pair<Operator>[] {
  const [a, b] = [placesOf(first), placesOf(second)];
  const pairs: Pair<Operator>[] = [];
  for (const place of [...new Set([...a.keys(), ...b.keys()])].sort(byPlace)) {
    const [one, other] = [a.get(place) ?? null, b.get(place) ?? null];
    const depth = place.split(".").length - 1;
    if (one && other && one.kind !== other.kind) {
      pairs.push({ place, depth, first: one, second: null }, { place, depth, first: null, second: other });
    } else pairs.push({ place, depth, first: one, second: other });
  }
  return pairs;
}

function placesOf(profile: Profile | null): Map<string, Operator> {
  const places = new Map<string, Operator>();
  if (!profile || profile.root === null) return places;
  const operators = new Map(profile.operators.map((operator) => [operator.id, operator]));
  const open: [number, string][] = [[profile.root, "0"]];
  const met = new Set<number>();
  for (let next = open.pop(); next; next = open.pop()) {
    const [id, place] = next;
    const operator = operators.get(id);
    if (!operator || met.has(id)) continue;
    met.add(id);
    places.set(place, operator);
    for (const [index, child] of operator.children.entries()) open.push([child, `${place}.${index}`]);
  }
  return places;
}

function byPlace(a: string, b: string): number {
  const [left, right] = [a.split(".").map(Number), b.split(".").map(Number)];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference) return difference;
  }
  return left.length - right.length;
}

export function stagePairs(first: Profile | null, second: Profile | null): Pair<Stage>[] {
  const [a, b] = [first?.stages ?? [], second?.stages ?? []];
  return Array.from({ length: Math.max(a.length, b.length) }, (_, index) => ({
    place: String(index + 1),
    depth: 0,
    first: a[index] ?? null,
    second: b[index] ?? null,
  }));
}

const MOST_MARKED = 3;
const LEAST_RATIO = 1.2;
/** Differences below it are noise. */
export const LEAST_SECONDS = 0.001;

/** Places with the largest growth of seconds, of at least a fifth and a millisecond. */
export function worstPlaces(pairs: readonly Pair<{ seconds: number | null }>[]): Set<string> {
  const grown = pairs.flatMap(({ place, first, second }) => {
    if (first?.seconds == null || second?.seconds == null) return [];
    const more = second.seconds - first.seconds;
    return more >= LEAST_SECONDS && second.seconds >= LEAST_RATIO * first.seconds ? [{ place, more }] : [];
  });
  grown.sort((a, b) => b.more - a.more);
  return new Set(grown.slice(0, MOST_MARKED).map(({ place }) => place));
}

/** Whether a query has the text of another one. Lists have the beginning of long texts. */
export function isSameText(listed: string, text: string): boolean {
  return listed.endsWith("…") ? text.startsWith(listed.slice(0, -1)) : listed === text;
}
