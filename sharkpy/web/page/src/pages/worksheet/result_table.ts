/** Rows of a result, by columns, with orders of them. */

export interface Column {
  name: string;
  type: string;
}

export type ColumnKind = "number" | "time" | "category";

const NUMBERS = /^(tinyint|smallint|int|integer|bigint|float|double|decimal|numeric)\b/i;
const TIMES = /^(date|timestamp)\b/i;

export function kindOf(column: Column): ColumnKind {
  if (NUMBERS.test(column.type)) return "number";
  return TIMES.test(column.type) ? "time" : "category";
}

export class ResultTable {
  readonly values: unknown[][];
  length = 0;

  constructor(readonly columns: readonly Column[]) {
    this.values = columns.map(() => []);
  }

  append(row: readonly unknown[]): void {
    for (let column = 0; column < this.values.length; column++) this.values[column]?.push(row[column] ?? null);
    this.length++;
  }

  value(row: number, column: number): unknown {
    return this.values[column]?.[row] ?? null;
  }
}

/** A number of the API: large integers, decimals and NaN come as text. Null for no number. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !value.trim()) return null;
  const number = Number(value);
  return Number.isNaN(number) ? null : number;
}

/** Seconds since 1970 of a DATE or TIMESTAMP, which have no zone. Null for no time. */
export function secondsOf(value: unknown): number | null {
  if (typeof value !== "string") return null;
  const text = value.trim().replace(" ", "T");
  const time = Date.parse(/\d[T]\d/.test(text) && !/Z$|[+-]\d\d:\d\d$/.test(text) ? `${text}Z` : text);
  return Number.isNaN(time) ? null : time / 1000;
}

/** Text of a value in a cell. Null is the empty text: cells show it in their own way. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export interface Order {
  column: number;
  descending: boolean;
}

/** Rows in an order; equal ones stay as they came, and nulls come last. */
export function sortedRows(table: ResultTable, order: Order): Uint32Array {
  const rows = Uint32Array.from({ length: table.length }, (_, row) => row);
  const column = table.columns[order.column];
  const values = table.values[order.column];
  if (!column || !values) return rows;
  const sign = order.descending ? -1 : 1;
  if (kindOf(column) === "number") {
    const numbers = Float64Array.from({ length: table.length }, (_, row) => numberOf(values[row]) ?? Number.NaN);
    return rows.sort((a, b) => compareNumbers(numbers[a] ?? 0, numbers[b] ?? 0, sign) || a - b);
  }
  const texts = values.map((value) => (value === null ? null : valueText(value)));
  return rows.sort((a, b) => compareTexts(texts[a] ?? null, texts[b] ?? null, sign) || a - b);
}

function compareNumbers(a: number, b: number, sign: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return sign * (a < b ? -1 : a > b ? 1 : 0);
}

function compareTexts(a: string | null, b: string | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return sign * (a < b ? -1 : a > b ? 1 : 0);
}
