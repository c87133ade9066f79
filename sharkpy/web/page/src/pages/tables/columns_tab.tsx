/** Columns of a table, each with its statistics, and with its values when it is opened. */
import { useEffect, useRef, useState } from "preact/hooks";
import { count, counted, percent, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import { Failure } from "../../parts/parts";
import { go } from "../../router";
import { openInWorksheet } from "../../worksheets";
import { type ColumnFigures, type TableColumn, type TableFacts, type TableName, tablesApi } from "./api";
import { useAnswer } from "./ask";
import { ColumnValues } from "./column_values_view";
import { statementName } from "./table_view";

const SHOWN = 60;

interface Numbered {
  column: TableColumn;
  place: number;
}

export function ColumnsTab({ table, facts }: { table: TableName; facts: TableFacts }) {
  const { answer, error, again } = useAnswer("columns", (signal) => tablesApi.columns(table, signal));
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState(SHOWN);
  const [opened, setOpened] = useState<string | null>(null);
  const wanted = filter.trim().toLowerCase();
  const all: Numbered[] = (answer?.columns ?? []).map((column, place) => ({ column, place }));
  const found = all.filter(
    ({ column }) => !wanted || `${column.name} ${column.type} ${column.comment ?? ""}`.toLowerCase().includes(wanted),
  );
  const page = found.slice(0, shown);
  const { figures, canAnalyze, isWhole } = useStatistics(
    table,
    page.map((one) => one.place),
  );
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return null;
  const hasNone = isWhole && page.length > 0 && page.every(({ place }) => !figures.get(place)?.source);
  return (
    <div class="tab-body">
      {(all.length > 12 || hasNone) && (
        <div class="tab-bar">
          {all.length > 12 && (
            <input
              class="input"
              type="search"
              aria-label="Filter columns"
              placeholder="Filter columns"
              spellcheck={false}
              value={filter}
              onInput={(event) => {
                setFilter(event.currentTarget.value);
                setShown(SHOWN);
              }}
            />
          )}
          {hasNone && canAnalyze && <NoStatistics table={table} />}
        </div>
      )}
      {answer.num_columns > all.length && (
        <p class="muted">
          The first {count(all.length)} of {counted(answer.num_columns, "column")}.
        </p>
      )}
      <div class="card table-frame">
        <table class="table columns-table">
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Type</th>
              <th scope="col" class="number">
                NULL
              </th>
              <th scope="col" class="number">
                Distinct
              </th>
              <th scope="col">Values</th>
              <th scope="col">
                <span class="visually-hidden">Details</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {page.map(({ column, place }) => (
              <ColumnRow
                key={column.name}
                table={table}
                column={column}
                figures={figures.get(place) ?? null}
                isOpen={opened === column.name}
                canOpen={facts.kind !== "continuous sink"}
                onOpen={() => setOpened(opened === column.name ? null : column.name)}
              />
            ))}
          </tbody>
        </table>
        {!found.length && <p class="muted nothing">No column has these letters.</p>}
      </div>
      {found.length > shown && (
        <div class="pager">
          <button type="button" class="button" onClick={() => setShown(shown + 2 * SHOWN)}>
            Show more of {count(found.length)}
          </button>
        </div>
      )}
    </div>
  );
}

function NoStatistics({ table }: { table: TableName }) {
  const text = `ANALYZE TABLE ${statementName(table)} COMPUTE STATISTICS FOR COLUMNS;`;
  return (
    <span class="muted hint-line">
      Nothing is known of the values yet.
      <button
        type="button"
        class="button small"
        onClick={() => {
          openInWorksheet(text);
          go("/worksheet");
        }}
      >
        <Icon name="chart" size={13} /> ANALYZE TABLE in the worksheet
      </button>
    </span>
  );
}

function ColumnRow(props: {
  table: TableName;
  column: TableColumn;
  figures: ColumnFigures | null;
  isOpen: boolean;
  canOpen: boolean;
  onOpen: () => void;
}) {
  const { column, figures, isOpen } = props;
  return (
    <>
      <tr class={isOpen ? "is-open" : undefined} onClick={props.canOpen ? props.onOpen : undefined}>
        <th scope="row">
          <span class="column-name">
            <code>{column.name}</code>
            {column.is_partition && <span class="chip">partition</span>}
            {column.is_required && <span class="chip">NOT NULL</span>}
          </span>
          {column.comment && <small>{column.comment}</small>}
          {column.default !== null && (
            <small>
              default <code>{column.default}</code>
            </small>
          )}
        </th>
        <td class="of-type">
          <code title={column.type}>{column.type}</code>
        </td>
        <td class="number">
          <Share part={figures?.num_nulls ?? null} whole={figures?.num_rows ?? null} />
        </td>
        <td class="number" title={figures?.num_distinct == null ? undefined : `about ${count(figures.num_distinct)}`}>
          {shortCount(figures?.num_distinct)}
        </td>
        <td class="of-values">{figures && <Values figures={figures} />}</td>
        <td class="of-actions">
          {props.canOpen && (
            <button
              type="button"
              class="button quiet small icon"
              aria-expanded={isOpen}
              aria-label={`Values of ${column.name}`}
              onClick={(event) => {
                event.stopPropagation();
                props.onOpen();
              }}
            >
              <Icon name={isOpen ? "down_small" : "right_small"} size={13} />
            </button>
          )}
        </td>
      </tr>
      {isOpen && (
        <tr class="of-details">
          <td colSpan={6}>
            <ColumnValues table={props.table} column={column} figures={figures} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Share of NULLs as a bar and a percentage. */
function Share({ part, whole }: { part: number | null; whole: number | null }) {
  if (part === null || whole === null) return <>—</>;
  return (
    <span class="share" title={`${count(part)} of ${counted(whole, "row")}`}>
      {part > 0 && <i style={{ width: `${Math.max(3, (100 * part) / Math.max(1, whole))}%` }} />}
      {part === 0 ? "none" : percent(part, whole)}
    </span>
  );
}

function Values({ figures }: { figures: ColumnFigures }) {
  if (figures.values) {
    return (
      <span class="few-values">
        {figures.values.map((value) => (
          <code key={value}>{value}</code>
        ))}
      </span>
    );
  }
  if (figures.low === null || figures.high === null) {
    return figures.average_length === null ? null : (
      <span class="muted">
        {figures.average_length.toFixed(1)} bytes on average, {count(figures.max_length)} at most
      </span>
    );
  }
  return (
    <span class="bounds">
      <code>{figures.low}</code> <span class="muted">to</span> <code>{figures.high}</code>
    </span>
  );
}

const CHUNK = 20;

/** Statistics of the columns at some places. They are asked for in parts, and the server may answer a part of a part. */
function useStatistics(table: TableName, places: readonly number[]) {
  const [figures, setFigures] = useState<ReadonlyMap<number, ColumnFigures>>(new Map());
  const [canAnalyze, setCanAnalyze] = useState(false);
  const asked = useRef(new Set<number>());
  const chunks = [...new Set(places.map((place) => Math.floor(place / CHUNK)))];
  const key = chunks.join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` has all chunks
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      for (const chunk of chunks) {
        if (asked.current.has(chunk)) continue;
        let at = chunk * CHUNK;
        while (at < (chunk + 1) * CHUNK) {
          const query = `offset=${at}&limit=${(chunk + 1) * CHUNK - at}`;
          const page = await tablesApi.statistics(table, stop.signal, query);
          setCanAnalyze(page.can_analyze);
          const start = at;
          setFigures((known) => new Map([...known, ...page.columns.map((one, i) => [start + i, one] as const)]));
          if (!page.columns.length) break;
          at += page.columns.length;
        }
        asked.current.add(chunk);
      }
    };
    // Without statistics, the columns are still worth showing.
    ask().catch(() => {});
    return () => stop.abort();
  }, [key]);
  return { figures, canAnalyze, isWhole: places.every((place) => figures.has(place)) };
}
