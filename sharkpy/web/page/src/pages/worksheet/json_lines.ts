/** Answer of `POST /v1/sql` as lines of JSON: columns, a list for each row, and a summary or an error. */
import type { SqlError } from "../../api";
import { type Column, ResultTable } from "./result_table";

export interface Head {
  query_id: string;
  session_id: string | null;
  columns: Column[];
}

export interface Summary {
  rows: number;
  seconds: number;
  has_more?: boolean;
  rows_written?: number | null;
}

/** Lines of text that comes in pieces. */
export class LineSplitter {
  private rest = "";

  /** Add a piece, and return the lines that it completes. */
  add(piece: string): string[] {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    return lines.filter((line) => line.length > 0);
  }

  end(): string[] {
    const last = this.rest;
    this.rest = "";
    return last.trim() ? [last] : [];
  }
}

/** What an answer has told so far. */
export class Answer {
  head: Head | null = null;
  table: ResultTable | null = null;
  summary: Summary | null = null;
  error: SqlError | null = null;

  /** Add whole lines. One call of the parser for many rows takes a third of the time of one for each. */
  addLines(lines: readonly string[]): void {
    if (lines.length) for (const value of JSON.parse(`[${lines.join(",")}]`) as unknown[]) this.add(value);
  }

  private add(value: unknown): void {
    if (Array.isArray(value)) {
      this.table?.append(value);
      return;
    }
    const facts = value as Partial<Head & Summary> & { error?: SqlError };
    if (facts.error) this.error = facts.error;
    else if (this.head === null && facts.columns) {
      this.head = facts as Head;
      this.table = new ResultTable(facts.columns);
    } else this.summary = facts as Summary;
  }

  get isWhole(): boolean {
    return this.summary !== null || this.error !== null;
  }
}
