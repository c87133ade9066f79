/** Which chart shows a result, chosen by its columns' types, and the numbers that it draws. */
import { type Column, kindOf, numberOf, type ResultTable, secondsOf, valueText } from "./result_table";

export const CHART_KINDS = ["line", "bar", "scatter", "histogram", "heat map"] as const;
export type ChartKind = (typeof CHART_KINDS)[number];
export const AGGREGATES = ["sum", "mean", "min", "max", "count"] as const;
export type Aggregate = (typeof AGGREGATES)[number];

export interface ChartChoice {
  kind: ChartKind;
  /** Columns by their places. A histogram has only `x`. */
  x: number;
  y: number;
  /** Column whose values are lines, groups of bars, colours of points, or rows of a heat map. */
  series: number | null;
  /** How rows with equal x and series are put together. */
  aggregate: Aggregate;
  bins: number;
}

const MOST_CATEGORIES = 200;
const MOST_SERIES = 10;
/** Bars that can be told apart. With more, two categories are a heat map. */
const MOST_GROUPED = 60;
export const MOST_POINTS = 30_000;

/** Columns of a kind, in their order. Names of identifiers come last: they are seldom of interest. */
function columnsOf(columns: readonly Column[], kind: string): number[] {
  const found = columns.map((_, place) => place).filter((place) => kindOf(columns[place] as Column) === kind);
  const isId = (place: number) => /(^|_)(id|key|sk)$/i.test(columns[place]?.name ?? "");
  return [...found.filter((place) => !isId(place)), ...found.filter(isId)];
}

function distinct(table: ResultTable, column: number, most: number): number {
  const seen = new Set<string>();
  for (const value of table.values[column] ?? []) {
    seen.add(valueText(value));
    if (seen.size > most) break;
  }
  return seen.size;
}

/** A chart for the result, or null if it has nothing to draw. */
export function chooseChart(table: ResultTable): ChartChoice | null {
  const numbers = columnsOf(table.columns, "number");
  const times = columnsOf(table.columns, "time");
  const categories = columnsOf(table.columns, "category").filter(
    (column) => distinct(table, column, MOST_CATEGORIES) <= MOST_CATEGORIES,
  );
  const [first, second] = numbers;
  const usual = { series: null, aggregate: "sum" as const, bins: 30 };
  if (first === undefined || table.length < 2) return null;
  const few = categories.filter((column) => distinct(table, column, MOST_SERIES) <= MOST_SERIES);
  const groups = (times[0] === undefined ? few.at(-1) : few[0]) ?? null;
  if (times[0] !== undefined) return { ...usual, kind: "line", x: times[0], y: first, series: groups };
  const across = categories.find((column) => column !== groups);
  if (across !== undefined && groups !== null) {
    const bars = distinct(table, across, MOST_GROUPED) * distinct(table, groups, MOST_SERIES);
    if (bars <= MOST_GROUPED) return { ...usual, kind: "bar", x: across, y: first, series: groups };
  }
  if (categories[0] !== undefined && categories[1] !== undefined) {
    return { ...usual, kind: "heat map", x: categories[0], y: first, series: categories[1] };
  }
  if (categories[0] !== undefined) return { ...usual, kind: "bar", x: categories[0], y: first };
  if (second !== undefined) return { ...usual, kind: "scatter", x: first, y: second };
  return { ...usual, kind: "histogram", x: first, y: first };
}

class Cell {
  count = 0;
  sum = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;

  add(value: number): void {
    this.count++;
    this.sum += value;
    this.min = Math.min(this.min, value);
    this.max = Math.max(this.max, value);
  }

  value(aggregate: Aggregate): number {
    return aggregate === "mean" ? this.sum / this.count : this[aggregate];
  }
}

export interface Grid {
  /** Positions on the x axis: numbers, seconds, or places of `labels`. */
  xs: number[];
  labels: string[] | null;
  series: string[];
  /** A list for each series, with a value or null for each x. */
  values: (number | null)[][];
  /** Series and categories that were left out, since they are too many. */
  left: number;
}

function positionOf(column: Column, value: unknown): number | null {
  return kindOf(column) === "time" ? secondsOf(value) : numberOf(value);
}

/** Values by x and series. With `isOrdinal`, each x is a category, in the order of first occurrence. */
export function gridOf(table: ResultTable, choice: ChartChoice, isOrdinal: boolean): Grid {
  const column = table.columns[choice.x];
  const cells = new Map<string, Map<number, Cell>>();
  const places = new Map<string, number>();
  let left = 0;
  for (let row = 0; column && row < table.length; row++) {
    const x = isOrdinal
      ? placeOf(valueText(table.value(row, choice.x)) || "NULL", places)
      : positionOf(column, table.value(row, choice.x));
    const y = choice.aggregate === "count" ? 1 : numberOf(table.value(row, choice.y));
    if (x === null || y === null || !Number.isFinite(x) || !Number.isFinite(y)) continue;
    const name = choice.series === null ? "" : valueText(table.value(row, choice.series)) || "NULL";
    const most = choice.kind === "heat map" ? MOST_CATEGORIES : MOST_SERIES;
    if (!cells.has(name) && cells.size >= most) {
      left++;
      continue;
    }
    const ofSeries = cells.get(name) ?? new Map<number, Cell>();
    cells.set(name, ofSeries);
    const cell = ofSeries.get(x) ?? new Cell();
    ofSeries.set(x, cell);
    cell.add(y);
  }
  let xs = [...new Set([...cells.values()].flatMap((ofSeries) => [...ofSeries.keys()]))].sort((a, b) => a - b);
  if (isOrdinal && xs.length > MOST_CATEGORIES) {
    left += xs.length - MOST_CATEGORIES;
    xs = xs.slice(0, MOST_CATEGORIES);
  }
  return {
    xs,
    labels: isOrdinal ? [...places.keys()] : null,
    series: [...cells.keys()],
    values: [...cells.values()].map((ofSeries) => xs.map((x) => ofSeries.get(x)?.value(choice.aggregate) ?? null)),
    left,
  };
}

/** Part of the distance between two categories that their bars take. */
const GROUP_WIDTH = 0.8;

/** Bars of several series next to each other: each series has values at places of its own. */
export function groupedBars(grid: Grid): { xs: number[]; values: (number | null)[][] } {
  const width = GROUP_WIDTH / grid.series.length;
  const places = grid.xs.flatMap((_, at) => grid.series.map((_, series) => ({ at, series })));
  return {
    xs: places.map(({ at, series }) => (grid.xs[at] ?? 0) + (series - (grid.series.length - 1) / 2) * width),
    values: grid.values.map((values, series) =>
      places.map((place) => (place.series === series ? (values[place.at] ?? null) : null)),
    ),
  };
}

function placeOf(text: string, places: Map<string, number>): number {
  const known = places.get(text);
  if (known !== undefined) return known;
  places.set(text, places.size);
  return places.size - 1;
}

export interface Points {
  series: string[];
  xs: number[][];
  ys: number[][];
  /** Number of points of the result, of which at most MOST_POINTS are drawn. */
  total: number;
}

/** Points of a scatter chart: all, or evenly chosen ones. */
export function pointsOf(table: ResultTable, choice: ChartChoice): Points {
  const [x, y] = [table.columns[choice.x], table.columns[choice.y]];
  const step = Math.max(1, table.length / MOST_POINTS);
  const names: string[] = [];
  const points: Points = { series: names, xs: [], ys: [], total: table.length };
  for (let at = 0; x && y && at < table.length; at += step) {
    const row = Math.floor(at);
    const [px, py] = [positionOf(x, table.value(row, choice.x)), positionOf(y, table.value(row, choice.y))];
    if (px === null || py === null || !Number.isFinite(px) || !Number.isFinite(py)) continue;
    const name = choice.series === null ? "" : valueText(table.value(row, choice.series)) || "NULL";
    let place = names.indexOf(name);
    if (place < 0 && names.length === MOST_SERIES) place = MOST_SERIES - 1;
    if (place < 0) {
      place = names.push(name) - 1;
      points.xs.push([]);
      points.ys.push([]);
    }
    points.xs[place]?.push(px);
    points.ys[place]?.push(py);
  }
  return points;
}

export interface Histogram {
  from: number[];
  counts: number[];
  width: number;
}

/** Counts of values in bins of equal, round width. */
export function histogramOf(table: ResultTable, choice: ChartChoice): Histogram {
  const column = table.columns[choice.x];
  const values: number[] = [];
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of table.values[choice.x] ?? []) {
    const number = column ? positionOf(column, value) : null;
    if (number === null || !Number.isFinite(number)) continue;
    values.push(number);
    least = Math.min(least, number);
    most = Math.max(most, number);
  }
  if (!values.length) return { from: [], counts: [], width: 1 };
  const width = roundWidth((most - least) / Math.max(1, choice.bins) || 1);
  const start = Math.floor(least / width) * width;
  const amount = Math.floor((most - start) / width) + 1;
  const counts = new Array<number>(amount).fill(0);
  for (const value of values) {
    const bin = Math.min(amount - 1, Math.floor((value - start) / width));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return { from: counts.map((_, bin) => start + bin * width), counts, width };
}

/** The smallest of 1, 2, 2.5, 5 times a power of ten that is not below a width. */
export function roundWidth(width: number): number {
  const power = 10 ** Math.floor(Math.log10(width));
  const factor = [1, 2, 2.5, 5, 10].find((one) => one * power >= width * (1 - 1e-9)) ?? 10;
  return factor * power;
}
