/** One result: what happened, and its rows as a table or a chart. */
import { useMemo, useState } from "preact/hooks";
import { count, counted, seconds } from "../../format";
import { Icon } from "../../parts/icons";
import { download, Empty, useNow } from "../../parts/parts";
import { oneLineSql, SqlLine } from "../../parts/sql_text";
import { copyText } from "../../parts/toasts";
import { Chart } from "./chart";
import { csvParts, tabbedText } from "./delimited";
import { downloadAs, FILE_FORMATS, isQuery } from "./download_rows";
import { Grid } from "./grid";
import { type Order, type ResultTable, sortedRows } from "./result_table";
import type { Result } from "./run_statement";

const MOST_COPIED = 100_000;

export function ResultPane({ result }: { result: Result }) {
  const [view, setView] = useState<"table" | "chart">("table");
  const version = result.version.value;
  const state = result.state.value;
  const { table, error } = result.answer;
  const hasRows = table !== null && table.columns.length > 0;
  const [order, setOrder] = useState<Order | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` counts changes of the table
  const rows = useMemo(() => (order && table ? sortedRows(table, order) : null), [table, version, order]);
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
          {hasRows && table.length > 0 && <Carry result={result} table={table} rows={rows} />}
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
      {hasRows && view === "table" && table.length > 0 && (
        <Grid table={table} version={version} rows={rows} order={order} onOrder={setOrder} />
      )}
      {hasRows && table.length === 0 && state === "finished" && (
        <Empty icon="grid" title="The result has no rows">
          <p>Its columns are {table.columns.map((column) => column.name).join(", ")}.</p>
        </Empty>
      )}
      {!hasRows && !error && <NoRows result={result} />}
    </>
  );
}

/** Ways to take the rows along: copies and CSV have them in the order of the table. */
function Carry({ result, table, rows }: { result: Result; table: ResultTable; rows: Uint32Array | null }) {
  const copied = Math.min(table.length, MOST_COPIED);
  const range = { fromRow: 0, toRow: copied - 1, fromColumn: 0, toColumn: table.columns.length - 1 };
  return (
    <>
      <button
        type="button"
        class="button small"
        title={`Copy at most ${count(MOST_COPIED)} rows`}
        onClick={() => copyText(tabbedText(table, rows, range, true), counted(copied, "row"))}
      >
        <Icon name="copy" size={13} /> Copy
      </button>
      <button
        type="button"
        class="button small"
        onClick={() => download("result.csv", csvParts(table, rows), "text/csv;charset=utf-8")}
      >
        <Icon name="download" size={13} /> CSV
      </button>
      {isQuery(result.statement.text) &&
        FILE_FORMATS.map((format) => (
          <button
            key={format.name}
            type="button"
            class="button small"
            title={`The server runs the statement again and sends its rows as ${format.name}`}
            onClick={() => downloadAs(result, format)}
          >
            <Icon name="download" size={13} /> {format.name}
          </button>
        ))}
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
