/** Results as CSV (RFC 4180), and cells as text to paste into a spreadsheet. */
import { type ResultTable, valueText } from "./result_table";

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const ROWS_PER_PART = 20_000;

/** Parts of a CSV file. Null is an empty field, and an empty text is `""`. */
export function csvParts(table: ResultTable, rows: Uint32Array | null): string[] {
  const parts = [`${table.columns.map((column) => quoted(column.name)).join(",")}\r\n`];
  let part = "";
  for (let index = 0; index < table.length; index++) {
    const row = rows?.[index] ?? index;
    part += `${table.values.map((values) => field(values[row])).join(",")}\r\n`;
    if (index % ROWS_PER_PART === ROWS_PER_PART - 1) {
      parts.push(part);
      part = "";
    }
  }
  if (part) parts.push(part);
  return parts;
}

function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = valueText(value);
  return text === "" ? '""' : quoted(text);
}

export interface CellRange {
  fromRow: number;
  toRow: number;
  fromColumn: number;
  toColumn: number;
}

/** Cells with tabs between columns. */
export function tabbedText(table: ResultTable, rows: Uint32Array | null, range: CellRange, hasNames: boolean): string {
  const lines: string[] = [];
  if (hasNames) {
    const names = table.columns.slice(range.fromColumn, range.toColumn + 1);
    lines.push(names.map((column) => tabbed(column.name)).join("\t"));
  }
  for (let index = range.fromRow; index <= Math.min(range.toRow, table.length - 1); index++) {
    const row = rows?.[index] ?? index;
    const cells: string[] = [];
    for (let column = range.fromColumn; column <= range.toColumn; column++) {
      cells.push(tabbed(valueText(table.value(row, column))));
    }
    lines.push(cells.join("\t"));
  }
  return lines.join("\n");
}

function tabbed(text: string): string {
  return /[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
