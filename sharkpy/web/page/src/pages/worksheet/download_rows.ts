/** Rows of a result as files of the server: it runs the statement again, and writes another format. */
import { download } from "../../parts/parts";
import { sayError } from "../../parts/toasts";
import { tokens } from "../../sql/tokens";
import { ask, type Result } from "./run_statement";

export const FILE_FORMATS = [
  { name: "Parquet", type: "application/vnd.apache.parquet", end: "parquet" },
  { name: "Arrow", type: "application/vnd.apache.arrow.stream", end: "arrows" },
] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

const QUERIES = new Set(["select", "with", "from", "values", "table", "show", "describe", "desc"]);

/** Whether a statement only reads, so that it may run again. */
export function isQuery(text: string): boolean {
  for (const token of tokens(text)) {
    if (token.kind === "word") return QUERIES.has(text.slice(token.from, token.to).toLowerCase());
    const isOpening = text.slice(token.from, token.to) === "(";
    if (token.kind !== "comment" && token.kind !== "space" && !isOpening) return false;
  }
  return false;
}

export async function downloadAs(result: Result, format: FileFormat): Promise<void> {
  try {
    const response = await ask(result, format.type);
    download(`result.${format.end}`, [await response.blob()], format.type);
  } catch (error) {
    sayError(error);
  }
}
