/** The live catalog: names that the page knows, asked for again when they may have changed. */
import { signal } from "@preact/signals";
import { type CatalogDatabase, tablesApi } from "./pages/tables/api";
import type { Known, KnownColumn, KnownFunction, KnownTable } from "./sql/completion";

export interface CatalogNames {
  databases: CatalogDatabase[];
  tables: KnownTable[];
  /** Whether there are more tables than the page asks for. */
  hasMore: boolean;
}

export const catalogNames = signal<CatalogNames | null>(null);
const functions = signal<KnownFunction[]>([]);

const FRESH = 15_000;
/** Pages of 10,000 tables that the page asks for. */
const MOST_PAGES = 5;
let catalogTag = "";
let functionsTag = "";
let asked = Number.NEGATIVE_INFINITY;
let asking: Promise<void> | null = null;
const columns = new Map<string, { at: number; columns: Promise<readonly KnownColumn[]> }>();

/** A statement may have changed the catalog: ask again at the next need. */
export function catalogChanged(): void {
  asked = Number.NEGATIVE_INFINITY;
  columns.clear();
}

/** Ask for names if the known ones are not fresh. An unchanged list is not sent again. */
export function refreshCatalog(): Promise<void> {
  if (performance.now() - asked < FRESH) return asking ?? Promise.resolve();
  asked = performance.now();
  asking = askAll().catch((error: unknown) => {
    asked = Number.NEGATIVE_INFINITY;
    throw error;
  });
  return asking;
}

async function askAll(): Promise<void> {
  const [catalog, called] = await Promise.all([tablesApi.catalog(catalogTag), tablesApi.functions(functionsTag)]);
  if (called) {
    functions.value = called.answer.functions;
    functionsTag = called.tag;
  }
  if (!catalog) return;
  const tables = catalog.answer.tables;
  let cursor = catalog.answer.next;
  for (let page = 1; cursor && page < MOST_PAGES; page++) {
    const more = await tablesApi.catalog("", cursor);
    tables.push(...(more?.answer.tables ?? []));
    cursor = more?.answer.next ?? null;
  }
  // Only a catalog of one page has a tag that stands for the whole.
  catalogTag = catalog.answer.next ? "" : catalog.tag;
  catalogNames.value = { databases: catalog.answer.databases, tables, hasMore: cursor !== null };
}

const COLUMNS_FRESH = 60_000;
const MOST_TABLES = 500;

async function columnsOf(database: string, name: string): Promise<readonly KnownColumn[]> {
  const key = `${database}.${name}`;
  const known = columns.get(key);
  if (known && performance.now() - known.at < COLUMNS_FRESH) return known.columns;
  const found = tablesApi.columns({ database, name }).then(
    (answer) => answer.columns,
    () => {
      columns.delete(key);
      return [];
    },
  );
  if (columns.size >= MOST_TABLES) columns.clear();
  columns.set(key, { at: performance.now(), columns: found });
  return found;
}

const PATIENCE = 1000;

/** What completion knows now. It waits a little for the server at first, and after a statement of this page. */
export async function knownNames(): Promise<Known> {
  const isChanged = asked === Number.NEGATIVE_INFINITY;
  const newer = refreshCatalog().catch(() => {});
  if (isChanged) await Promise.race([newer, new Promise((resume) => setTimeout(resume, PATIENCE))]);
  const names = catalogNames.value;
  return {
    databases: names?.databases.map((one) => one.name) ?? [],
    tables: names?.tables ?? [],
    functions: functions.value,
    columns: columnsOf,
  };
}
