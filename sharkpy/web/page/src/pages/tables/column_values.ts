/** Statements about the values of one column, over some rows of its table, and what they answer. */
import { kindOf, numberOf, type ResultTable } from "../worksheet/result_table";
import type { TableName } from "./api";

export const SAMPLED_ROWS = 100_000;
export const BUCKETS = 24;
const MOST_VALUES = 10;

/** A name in backticks, which fits each name. */
export function quotedName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

export function tableText(table: TableName): string {
  return `${quotedName(table.database)}.${quotedName(table.name)}`;
}

export function sampleStatement(table: TableName, rows = 100): string {
  return `SELECT * FROM ${tableText(table)} LIMIT ${rows}`;
}

/** The most frequent values, and how many rows have them. */
export function topStatement(table: TableName, column: string): string {
  return `SELECT CAST(v AS STRING) AS v, n FROM (
  SELECT v, count(*) AS n FROM (SELECT ${quotedName(column)} AS v FROM ${tableText(table)} LIMIT ${SAMPLED_ROWS}) s GROUP BY v
) g ORDER BY n DESC, v LIMIT ${MOST_VALUES}`;
}

/** An expression of a column as a number, or null if its values have no order. */
function asNumber(column: { name: string; type: string }): string | null {
  const name = quotedName(column.name);
  if (/^date\b/i.test(column.type)) return `CAST(datediff(${name}, '1970-01-01') AS DOUBLE) * 86400`;
  if (/^timestamp\b/i.test(column.type)) return `CAST(unix_timestamp(${name}) AS DOUBLE)`;
  return kindOf(column) === "number" ? `CAST(${name} AS DOUBLE)` : null;
}

/** Number of rows in each of some intervals of equal width; null for columns without an order. */
export function histogramStatement(table: TableName, column: { name: string; type: string }): string | null {
  const value = asNumber(column);
  if (!value) return null;
  return `WITH s AS (SELECT ${value} AS v FROM ${tableText(table)} LIMIT ${SAMPLED_ROWS}),
b AS (SELECT min(v) AS lo, max(v) AS hi FROM s)
SELECT CAST(floor((v - lo) / (hi - lo) * ${BUCKETS}) AS INT) AS bucket, count(*) AS n, min(lo) AS lo, max(hi) AS hi
FROM s CROSS JOIN b WHERE v IS NOT NULL GROUP BY CAST(floor((v - lo) / (hi - lo) * ${BUCKETS}) AS INT)`;
}

export interface TopValue {
  value: string | null;
  rows: number;
}

export function topValues(table: ResultTable): TopValue[] {
  return Array.from({ length: Math.min(table.length, MOST_VALUES) }, (_, row) => {
    const value = table.value(row, 0);
    return { value: value === null ? null : String(value), rows: numberOf(table.value(row, 1)) ?? 0 };
  });
}

export interface Histogram {
  low: number;
  high: number;
  rows: number[];
}

/** Intervals of a histogram, or null if all values are the same. */
export function histogramOf(table: ResultTable): Histogram | null {
  const rows = new Array<number>(BUCKETS).fill(0);
  let [low, high] = [0, 0];
  for (let row = 0; row < table.length; row++) {
    // The greatest value is the end of the last interval.
    const bucket = Math.min(BUCKETS - 1, Math.max(0, numberOf(table.value(row, 0)) ?? 0));
    rows[bucket] = (rows[bucket] ?? 0) + (numberOf(table.value(row, 1)) ?? 0);
    low = numberOf(table.value(row, 2)) ?? low;
    high = numberOf(table.value(row, 3)) ?? high;
  }
  return high > low ? { low, high, rows } : null;
}

/** A bound of a histogram, as the column's type shows it. */
export function boundText(value: number, type: string): string {
  if (/^date\b/i.test(type)) return new Date(value * 1000).toISOString().slice(0, 10);
  if (/^timestamp\b/i.test(type)) return new Date(value * 1000).toISOString().slice(0, 19).replace("T", " ");
  return Number(value.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}
