import { useEffect, useRef, useState } from "preact/hooks";
import { api, isOver, type Query } from "../../api";
import { ago, bytes, fullTime, seconds, shortCount } from "../../format";
import { onChangedQueries } from "../../live";
import { Icon } from "../../parts/icons";
import { doneShare, Empty, Failure, Live, ProgressBar, progressText, State, useNow } from "../../parts/parts";
import { SqlLine } from "../../parts/sql_text";
import { go, place, replaceParameters } from "../../router";
import { askToCancel } from "./cancel";
import { FilterBar } from "./filter_bar";
import { apiParameters, type Filters, hasFilter, mergeChanged, readFilters, type Sort, writeFilters } from "./filters";

interface Column {
  sort: Sort;
  title: string;
  value: (query: Query, now: number) => string;
  tip?: (query: Query) => string;
}

const COLUMNS: readonly Column[] = [
  {
    sort: "started",
    title: "Started",
    value: (query, now) => ago(query.started, now),
    tip: (query) => fullTime(query.started),
  },
  { sort: "seconds", title: "Duration", value: (query, now) => seconds(shownSeconds(query, now)) },
  { sort: "rows_read", title: "Rows read", value: (query) => shortCount(query.rows_read) },
  { sort: "rows_returned", title: "Returned", value: (query) => shortCount(query.rows_returned) },
  { sort: "bytes_read", title: "Bytes read", value: (query) => bytes(query.bytes_read) },
  { sort: "cpu_seconds", title: "CPU", value: (query) => seconds(query.cpu_seconds) },
  { sort: "peak_bytes", title: "Memory", value: (query) => bytes(query.peak_bytes) },
];

/** Seconds of a query; of one that runs, until now. */
export function shownSeconds(query: Query, now: number): number | null {
  if (isOver(query.state)) return query.seconds;
  const passed = (now - Date.parse(query.started)) / 1000;
  return Math.max(query.seconds ?? 0, Number.isNaN(passed) ? 0 : passed);
}

/** Queries of the address' filters, kept up to date. */
function useQueries(filters: Filters) {
  const [queries, setQueries] = useState<Query[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  const latest = useRef(filters);
  latest.current = filters;
  const key = `${writeFilters(filters)} ${round}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` holds all filters
  useEffect(() => {
    const stop = new AbortController();
    api.queries(apiParameters(latest.current, Date.now()), stop.signal).then(
      (page) => {
        setQueries(page.queries);
        setNext(page.next);
        setError(null);
      },
      (failure: Error) => {
        if (!stop.signal.aborted) setError(failure);
      },
    );
    return () => stop.abort();
  }, [key]);
  useEffect(
    () => onChangedQueries((changed) => setQueries((shown) => shown && mergeChanged(shown, changed, latest.current))),
    [],
  );
  return { queries, next, error, reload: () => setRound(round + 1) };
}

export function QueryList() {
  const filters = readFilters(place.value.parameters);
  const { queries, next, error, reload } = useQueries(filters);
  const cursors = useRef<(string | null)[]>([]);
  const now = useNow(1000);
  const change = (changed: Partial<Filters>) => {
    cursors.current = [];
    replaceParameters(writeFilters({ ...filters, cursor: null, ...changed }));
  };
  const turn = (cursor: string | null) => {
    replaceParameters(writeFilters({ ...filters, cursor }));
    window.scrollTo({ top: 0 });
  };
  return (
    <>
      <div class="filters">
        <FilterBar filters={filters} onChange={change} />
        <Live />
      </div>
      {error && <Failure error={error} onRetry={reload} />}
      {queries && !queries.length && (
        <NoQueries filters={filters} onClear={() => replaceParameters(new URLSearchParams())} />
      )}
      {queries && queries.length > 0 && (
        <div class="card table-frame">
          <table class="table queries">
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Statement</th>
                <th scope="col">User</th>
                {COLUMNS.map((column) => (
                  <SortableHead key={column.sort} column={column} filters={filters} onChange={change} />
                ))}
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {queries.map((query) => (
                <QueryRow key={query.query_id} query={query} sort={filters.sort} now={now} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {queries && (next || filters.cursor) && (
        <nav class="pager" aria-label="Pages of the list">
          <button
            type="button"
            class="button"
            disabled={!filters.cursor}
            onClick={() => turn(cursors.current.pop() ?? null)}
          >
            <Icon name="left" size={14} /> {cursors.current.length || !filters.cursor ? "Previous" : "First"}
          </button>
          <button
            type="button"
            class="button"
            disabled={!next}
            onClick={() => {
              cursors.current.push(filters.cursor);
              turn(next);
            }}
          >
            Next <Icon name="right" size={14} />
          </button>
        </nav>
      )}
    </>
  );
}

function SortableHead(props: { column: Column; filters: Filters; onChange: (changed: Partial<Filters>) => void }) {
  const { column, filters } = props;
  const isSorted = filters.sort === column.sort;
  return (
    <th
      scope="col"
      class={`number ${column.sort}`}
      aria-sort={isSorted ? (filters.descending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        class="sort"
        onClick={() => props.onChange({ sort: column.sort, descending: isSorted ? !filters.descending : true })}
      >
        {column.title}
        {isSorted && <Icon name={filters.descending ? "down" : "up"} size={11} />}
      </button>
    </th>
  );
}

function QueryRow({ query, sort, now }: { query: Query; sort: Sort; now: number }) {
  const href = `#/queries/${encodeURIComponent(query.query_id)}`;
  const progress = progressText(query.progress, shownSeconds(query, now));
  return (
    <tr
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a, button") && !getSelection()?.toString()) go(href.slice(1));
      }}
    >
      <td class="of-state">
        <State state={query.state} />
      </td>
      <td class="of-text">
        <a href={href} title={query.text.slice(0, 2000)}>
          <SqlLine text={query.text} />
        </a>
        {query.tag && <span class="chip">{query.tag}</span>}
        {query.error && <p class="failed-with">{query.error.message}</p>}
        {!isOver(query.state) && (
          <div class="row-progress">
            {query.state !== "queued" && <ProgressBar share={doneShare(query.progress)} />}
            {progress && <span>{progress}</span>}
          </div>
        )}
      </td>
      <td class="of-user">{query.user || "—"}</td>
      {COLUMNS.map((column) => (
        <td
          key={column.sort}
          class={`number ${column.sort}${column.sort === sort ? " is-sorted" : ""}`}
          title={column.tip?.(query)}
          data-title={column.title}
        >
          {column.value(query, now)}
        </td>
      ))}
      <td class="of-actions">
        {!isOver(query.state) && (
          <button type="button" class="button small danger" onClick={() => askToCancel(query)}>
            Cancel
          </button>
        )}
      </td>
    </tr>
  );
}

function NoQueries({ filters, onClear }: { filters: Filters; onClear: () => void }) {
  if (hasFilter(filters)) {
    return (
      <Empty icon="search" title="No query fits these filters">
        <p>Take away a filter, or look at a longer time.</p>
        <button type="button" class="button" onClick={onClear}>
          Show all queries
        </button>
      </Empty>
    );
  }
  return (
    <Empty icon="queries" title="No queries yet">
      <p>Queries of all clients appear here while they run, and stay after they end.</p>
      <a class="button primary" href="#/worksheet">
        Write the first one
      </a>
    </Empty>
  );
}
