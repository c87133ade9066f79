/** Rows of the list of tables: databases, and the tables of the opened ones. */
import type { KnownTable } from "../../sql/completion";
import type { CatalogDatabase } from "./api";

export type ListRow =
  | { kind: "database"; database: CatalogDatabase; isOpen: boolean; count: number }
  | { kind: "table"; table: KnownTable };

/** Databases with at most this number of tables are open at first. */
const OPEN_AT_FIRST = 50;

export function isOpenAtFirst(database: CatalogDatabase): boolean {
  return !database.is_system && database.num_tables <= OPEN_AT_FIRST;
}

/** The rows to show. With a filter, all databases with a fitting table are open. */
export function listRows(
  databases: readonly CatalogDatabase[],
  tables: readonly KnownTable[],
  filter: string,
  opened: ReadonlyMap<string, boolean>,
): ListRow[] {
  const wanted = filter.trim().toLowerCase();
  const byDatabase = new Map<string, KnownTable[]>();
  for (const table of tables) {
    if (wanted && !`${table.database}.${table.name}`.includes(wanted)) continue;
    const found = byDatabase.get(table.database);
    if (found) found.push(table);
    else byDatabase.set(table.database, [table]);
  }
  const rows: ListRow[] = [];
  for (const database of databases) {
    const found = byDatabase.get(database.name) ?? [];
    if (wanted && !found.length) continue;
    const isOpen = wanted !== "" || (opened.get(database.name) ?? isOpenAtFirst(database));
    rows.push({ kind: "database", database, isOpen, count: found.length });
    if (isOpen) for (const table of found) rows.push({ kind: "table", table });
  }
  return rows;
}
