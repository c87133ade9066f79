/** Tables: the list of databases and tables, and the chosen table. */
import { useEffect, useRef, useState } from "preact/hooks";
import { catalogNames, refreshCatalog } from "../../catalog";
import { count } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty, Failure, useTitle } from "../../parts/parts";
import { decoded, go, path } from "../../router";
import { openInWorksheet } from "../../worksheets";
import type { TableName } from "./api";
import { kindIcon, placeOf } from "./kinds";
import { type ListRow, listRows } from "./table_list";
import { TableView } from "./table_view";
import "../../styles/tables.css";

function chosenTable(): TableName | null {
  const [, , database, name] = path.value.split("/");
  return database && name ? { database: decoded(database), name: decoded(name) } : null;
}

export function TablesPage() {
  const chosen = chosenTable();
  useTitle(chosen ? `${chosen.database}.${chosen.name}` : "Tables");
  const [error, setError] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round asks again
  useEffect(() => {
    refreshCatalog().then(() => setError(null), setError);
  }, [round]);
  const names = catalogNames.value;
  const isEmpty = names !== null && !names.tables.some((one) => one.kind !== "system table");
  return (
    <div class={chosen ? "tables-page has-table" : "tables-page"}>
      <div class="tables-side">
        <h1 class={chosen ? "visually-hidden" : undefined}>Tables</h1>
        {error && <Failure error={error} onRetry={() => setRound(round + 1)} />}
        {names && <TableList chosen={chosen} />}
      </div>
      <div class="tables-main">
        {chosen ? <TableView key={`${chosen.database}.${chosen.name}`} table={chosen} /> : isEmpty && <NoTables />}
        {!chosen && !isEmpty && names && (
          <Empty icon="grid" title="Choose a table">
            <p>Its columns, sample rows, memory, files, history and lineage appear here.</p>
          </Empty>
        )}
      </div>
    </div>
  );
}

function NoTables() {
  return (
    <Empty icon="grid" title="No tables yet">
      <p>Create one from a query or from files. It appears here at once.</p>
      <button
        type="button"
        class="button primary"
        onClick={() => {
          openInWorksheet(
            "CREATE TABLE first_table AS SELECT 1 AS id, 'first row' AS note;\nSELECT * FROM first_table;",
          );
          go("/worksheet");
        }}
      >
        <Icon name="worksheet" size={14} /> Create a table in the worksheet
      </button>
    </Empty>
  );
}

const ROW = 30;
const SPARE = 8;

function TableList({ chosen }: { chosen: TableName | null }) {
  const names = catalogNames.value;
  const frame = useRef<HTMLDivElement>(null);
  const [filter, setFilter] = useState("");
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(
    () => new Map(chosen ? [[chosen.database, true]] : []),
  );
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const rows = names ? listRows(names.databases, names.tables, filter, opened) : [];
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a newly chosen table scrolls the list
  useEffect(() => {
    const at = rows.findIndex((row) => row.kind === "table" && isSame(row.table, chosen));
    const element = frame.current;
    if (at < 0 || !element) return;
    const isVisible = at * ROW >= element.scrollTop && (at + 1) * ROW <= element.scrollTop + element.clientHeight;
    if (!isVisible) element.scrollTop = Math.max(0, at * ROW - element.clientHeight / 3);
  }, [chosen?.database, chosen?.name]);
  const first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const shown = rows.slice(first, Math.ceil((top + height) / ROW) + SPARE);
  return (
    <>
      <label class="tables-filter">
        <Icon name="search" size={14} />
        <span class="visually-hidden">Filter tables</span>
        <input
          class="input"
          type="search"
          placeholder="Filter tables"
          spellcheck={false}
          value={filter}
          onInput={(event) => {
            setFilter(event.currentTarget.value);
            if (frame.current) frame.current.scrollTop = 0;
          }}
        />
      </label>
      <nav class="card table-list" aria-label="Databases and tables">
        <div ref={frame} class="table-list-frame" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
          <ul style={{ height: `${rows.length * ROW}px` }}>
            {shown.map((row, index) => (
              <li key={keyOf(row)} style={{ top: `${(first + index) * ROW}px` }}>
                {row.kind === "database" ? (
                  <button
                    type="button"
                    class="of-database"
                    aria-expanded={row.isOpen}
                    title={row.database.comment ?? undefined}
                    onClick={() => setOpened(new Map(opened).set(row.database.name, !row.isOpen))}
                  >
                    <Icon name={row.isOpen ? "down_small" : "right_small"} size={12} />
                    <span>{row.database.name}</span>
                    <small>{count(row.count)}</small>
                  </button>
                ) : (
                  <a
                    href={`#${placeOf(row.table)}`}
                    aria-current={isSame(row.table, chosen) ? "page" : undefined}
                    title={`${row.table.name}: ${row.table.kind}`}
                  >
                    <Icon name={kindIcon(row.table.kind)} size={13} />
                    <span>{row.table.name}</span>
                  </a>
                )}
              </li>
            ))}
          </ul>
          {filter && !rows.length && <p class="muted nothing">No table has “{filter}” in its name.</p>}
        </div>
      </nav>
      {names?.hasMore && <p class="muted">There are more tables than the list shows. Open one by its address.</p>}
    </>
  );
}

function isSame(table: TableName, chosen: TableName | null): boolean {
  return table.database === chosen?.database && table.name === chosen.name;
}

function keyOf(row: ListRow): string {
  return row.kind === "database" ? row.database.name : `${row.table.database}.${row.table.name}`;
}
