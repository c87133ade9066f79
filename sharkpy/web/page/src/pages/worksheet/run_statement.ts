/** Statements of a worksheet: they run in one session of the server, one after another. */
import { type Signal, signal } from "@preact/signals";
import { ApiError, addressOf, postHeaders, type SqlError, send } from "../../api";
import { catalogChanged } from "../../catalog";
import type { Statement } from "../../sql/tokens";
import { Answer, LineSplitter } from "./json_lines";
import { addRun } from "./run_history";

export type ResultState = "waiting" | "running" | "finished" | "failed" | "cancelled";

/** Result of one statement. `version` counts changes of `answer`. */
export interface Result {
  id: number;
  worksheet: string;
  statement: Statement;
  parameters: Parameters;
  mostRows: number;
  answer: Answer;
  state: Signal<ResultState>;
  version: Signal<number>;
  begun: number;
  stop: AbortController;
}

export type Parameters = Record<string, string | number | boolean | null>;

/** Value of a parameter as it is typed: a number, true, false, nothing for NULL, and else text; quotes make text. */
export function parameterValue(typed: string): string | number | boolean | null {
  const text = typed.trim();
  if (!text || /^null$/i.test(text)) return null;
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  const number = Number(text);
  if (
    /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) &&
    (!Number.isInteger(number) || Number.isSafeInteger(number))
  ) {
    return number;
  }
  const isQuoted = text.length > 1 && text.startsWith("'") && text.endsWith("'");
  return isQuoted ? text.slice(1, -1).replaceAll("''", "'") : typed;
}

let lastId = 0;

export function newResult(
  worksheet: string,
  statement: Statement,
  parameters: Parameters = {},
  mostRows = MOST_ROWS,
): Result {
  return {
    id: ++lastId,
    worksheet,
    statement,
    parameters,
    mostRows,
    answer: new Answer(),
    state: signal<ResultState>("waiting"),
    version: signal(0),
    begun: Date.now(),
    stop: new AbortController(),
  };
}

let session: Promise<string | null> | null = null;

/** Session of the page's statements, so that SET and USE count for the next ones. */
function openSession(): Promise<string | null> {
  session ??= send("v1/sessions", { method: "POST", headers: postHeaders(), body: "{}" }).then(
    async (response) => ((await response.json()) as { session_id: string }).session_id,
    (error: unknown) => {
      session = null;
      throw error;
    },
  );
  return session;
}

if (typeof window !== "undefined") {
  window.addEventListener("pagehide", () => {
    session?.then((id) => {
      if (id) fetch(addressOf(`v1/sessions/${id}`), { method: "DELETE", headers: postHeaders(), keepalive: true });
    });
    session = null;
  });
}

/** Most rows that the browser takes, unless the user chooses another number. */
export const MOST_ROWS = 1_000_000;

/** Answer to a statement, in a format of rows. */
export async function ask(result: Result, format: string, signal?: AbortSignal): Promise<Response> {
  const { parameters } = result;
  const sendIt = async () =>
    send("v1/sql", {
      method: "POST",
      headers: { ...postHeaders(), Accept: format },
      body: JSON.stringify({
        statement: result.statement.text,
        ...(Object.keys(parameters).length ? { parameters } : {}),
        session_id: await openSession(),
        max_rows: result.mostRows,
      }),
      ...(signal ? { signal } : {}),
    });
  try {
    return await sendIt();
  } catch (error) {
    // The session was idle for too long, or the server began anew.
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    session = null;
    return sendIt();
  }
}

/** Run a statement, and put its rows into the result while they come. */
export async function runStatement(result: Result): Promise<void> {
  const { answer, state } = result;
  result.begun = Date.now();
  state.value = "running";
  try {
    const response = await ask(result, "application/x-ndjson", result.stop.signal);
    await readAnswer(response, result);
    if (!answer.isWhole) throw new Error("The connection ended before the last row");
  } catch (error) {
    if (!result.stop.signal.aborted) answer.error = asSqlError(error);
  }
  result.version.value++;
  if (!/^\s*(select|show|describe|explain)\b/i.test(result.statement.text)) catalogChanged();
  state.value = result.stop.signal.aborted ? "cancelled" : answer.error ? "failed" : "finished";
  addRun({
    text: result.statement.text,
    at: result.begun,
    seconds: (Date.now() - result.begun) / 1000,
    rows: answer.table?.columns.length ? answer.table.length : (answer.summary?.rows_written ?? null),
    state: state.value,
    queryId: answer.head?.query_id ?? null,
  });
}

function asSqlError(error: unknown): SqlError {
  if (error instanceof ApiError) return error.error;
  const message = error instanceof Error ? error.message : String(error);
  return { message, sqlstate: null, line: null, column: null, hint: null };
}

/** Milliseconds of work after which the page may draw. */
const SLICE = 12;
/** Milliseconds between changes of what the page shows. */
const TOLD_EACH = 250;

async function readAnswer(response: Response, result: Result): Promise<void> {
  if (!response.body) return;
  const { answer } = result;
  const lines = new LineSplitter();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let begun = performance.now();
  let told = Number.NEGATIVE_INFINITY;
  for (;;) {
    const { done, value } = await reader.read();
    const found = done ? lines.end() : lines.add(decoder.decode(value, { stream: true }));
    answer.addLines(found);
    if (done) return;
    const now = performance.now();
    if (now - told > TOLD_EACH && answer.table?.length) {
      told = now;
      result.version.value++;
    }
    if (now - begun > SLICE) {
      await new Promise((resume) => setTimeout(resume));
      begun = performance.now();
    }
  }
}

/** Place of an error in the worksheet, or null if the statement has no place for it. */
export function errorPlace(statement: Statement, error: SqlError): { from: number; to: number } | null {
  if (error.line === null) return null;
  const lines = statement.text.split("\n");
  const line = lines[error.line - 1];
  if (line === undefined) return null;
  const before = lines.slice(0, error.line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const column = error.column === null ? 0 : Math.min(line.length, Math.max(0, error.column - 1));
  const word = error.column === null ? line : (/^(?:[\p{L}\p{N}_.]+|\S)/u.exec(line.slice(column))?.[0] ?? "");
  const from = statement.from + before + column;
  return { from, to: Math.min(statement.to, from + Math.max(1, word.length)) };
}
