/** Run one statement without a session of the worksheet, and return its rows. */
import { ApiError, postHeaders, send } from "../../api";
import { Answer, LineSplitter } from "../worksheet/json_lines";
import type { ResultTable } from "../worksheet/result_table";

export async function runOnce(statement: string, signal: AbortSignal, mostRows = 1000): Promise<ResultTable> {
  const response = await send("v1/sql", {
    method: "POST",
    headers: { ...postHeaders(), Accept: "application/x-ndjson" },
    body: JSON.stringify({ statement, max_rows: mostRows }),
    signal,
  });
  const answer = new Answer();
  const lines = new LineSplitter();
  answer.addLines([...lines.add(await response.text()), ...lines.end()]);
  if (answer.error) throw new ApiError(response.status, answer.error);
  if (!answer.table) throw new Error("The connection ended before the first row");
  return answer.table;
}
