/** One result: what happened, and its rows as a table or a chart. */
import { useState } from "preact/hooks";
import { count, counted, seconds } from "../../format";
import { Icon } from "../../parts/icons";
import { download, Empty, useNow } from "../../parts/parts";
import { oneLineSql, SqlLine } from "../../parts/sql_text";
import { copyText } from "../../parts/toasts";
import { Chart } from "./chart";
import { csvParts, tabbedText } from "./delimited";
import { Grid } from "./grid";
import type { Result } from "./run_statement";

const MOST_COPIED = 100_000;

export function ResultPane({ result }: { result: Result }) {
  const [view, setView] = useState<"table" | "chart">("table");
  const version = result.version.value;
  const state = result.state.value;
  const { table, error } = result.answer;
  const hasRows = table !== null && table.columns.length > 0;
  return (
    <>
      <div class="result-bar">
        {hasRows && (
          <fieldset class="segments" aria-label="View">
            <button type="button" aria-pressed={view === "table"} onClick={() => setView("table")}>
              <Icon name="grid" size={13} /> Table
            </button>
            <button type="button" aria-pressed={view === "chart"} onClick={() => setView("chart")}>
              <Icon name="chart" size={13} /> Chart
            </button>
          </fieldset>
        )}
        <Status result={result} />
        <span class="result-actions">
          {result.answer.head?.query_id && (
            <a class="button small quiet" href={`#/queries/${encodeURIComponent(result.answer.head.query_id)}`}>
              Profile
            </a>
          )}
          {hasRows && table.length > 0 && (
            <>
              <button
                type="button"
                class="button small"
                title={`Copy at most ${count(MOST_COPIED)} rows`}
                onClick={() =>
                  copyText(
                    tabbedText(
                      table,
                      null,
                      {
                        fromRow: 0,
                        toRow: Math.min(table.length, MOST_COPIED) - 1,
                        fromColumn: 0,
                        toColumn: table.columns.length - 1,
                      },
                      true,
                    ),
                    `${count(Math.min(table.length, MOST_COPIED))} rows`,
                  )
                }
              >
                <Icon name="copy" size={13} /> Copy
              </button>
              <button
                type="button"
                class="button small"
                onClick={() => download("result.csv", csvParts(table, null), "text/csv;charset=utf-8")}
              >
                <Icon name="download" size={13} /> CSV
              </button>
            </>
          )}
        </span>
      </div>
      {error && (
        <div class="notice bad result-error" role="alert">
          <strong>{error.message}</strong>
          {error.hint && <span>{error.hint}</span>}
          <span class="muted">
            {error.line !== null && `line ${error.line}${error.column === null ? "" : `, column ${error.column}`}`}
            {error.sqlstate && ` SQLSTATE ${error.sqlstate}`}
          </span>
        </div>
      )}
      {hasRows && view === "chart" && <Chart table={table} version={state === "running" ? 0 : version} />}
      {hasRows && view === "table" && table.length > 0 && <Grid table={table} version={version} />}
      {hasRows && table.length === 0 && state === "finished" && (
        <Empty icon="grid" title="The result has no rows">
          <p>Its columns are {table.columns.map((column) => column.name).join(", ")}.</p>
        </Empty>
      )}
      {!hasRows && !error && <NoRows result={result} />}
    </>
  );
}

function NoRows({ result }: { result: Result }) {
  const state = result.state.value;
  if (state === "running" || state === "waiting") {
    return (
      <Empty icon="turning" title={state === "running" ? "Running" : "Waiting for the statements before it"}>
        <SqlLine text={result.statement.text} />
      </Empty>
    );
  }
  if (state === "cancelled") return <Empty icon="ban" title="Stopped before its first row" />;
  const written = result.answer.summary?.rows_written;
  return (
    <Empty icon="check" title={written ? `${counted(written, "row")} written` : "Done"}>
      <p class="mono">{oneLineSql(result.statement.text).slice(0, 120)}</p>
    </Empty>
  );
}

function Status({ result }: { result: Result }) {
  const state = result.state.value;
  const now = useNow(state === "running" ? 200 : 60_000);
  const rows = result.answer.table?.length ?? 0;
  const { summary } = result.answer;
  if (state === "waiting") return <span class="muted">Waiting</span>;
  if (state === "running") {
    return (
      <span class="state running">
        <Icon name="turning" size={14} spins />
        {counted(rows, "row")} · {seconds((now - result.begun) / 1000)}
      </span>
    );
  }
  return (
    <span class="muted" aria-live="polite">
      {state === "failed" ? "Failed" : state === "cancelled" ? "Stopped" : ""}
      {state !== "finished" && rows > 0 && ` after ${counted(rows, "row")}`}
      {state === "finished" &&
        `${summary?.has_more ? "First " : ""}${counted(rows, "row")} · ${seconds(summary?.seconds)}`}
    </span>
  );
}
