/** Types of the server's answers about tables, and their calls. Times are ISO 8601 in UTC, sizes bytes. */
import { send } from "../../api";
import type { KnownColumn, KnownFunction, KnownTable } from "../../sql/completion";

export interface CatalogDatabase {
  name: string;
  comment: string | null;
  num_tables: number;
  is_system: boolean;
}

export interface CatalogPage {
  databases: CatalogDatabase[];
  tables: KnownTable[];
  next: string | null;
}

export interface NamedText {
  name: string;
  value: string;
}

export interface TableFacts {
  database: string;
  name: string;
  kind: string;
  comment: string | null;
  owner: string;
  created: string | null;
  format: string | null;
  location: string | null;
  num_columns: number;
  partition_columns: string[];
  bucket_columns: string[];
  num_buckets: number | null;
  properties: NamedText[];
  facts: NamedText[];
  ddl: string | null;
  has_files: boolean;
  has_history: boolean;
  is_cached: boolean;
}

export interface TableColumn extends KnownColumn {
  is_partition: boolean;
  is_required: boolean;
  default: string | null;
}

export interface TableSize {
  num_files: number | null;
  bytes: number | null;
  rows: number | null;
  rows_from: "memory" | "statistics" | null;
}

export interface ColumnFigures {
  name: string;
  source: "blocks" | "analyze" | null;
  num_rows: number | null;
  num_nulls: number | null;
  num_distinct: number | null;
  low: string | null;
  high: string | null;
  average_length: number | null;
  max_length: number | null;
  num_true: number | null;
  values: string[] | null;
}

export interface StatisticsPage {
  columns: ColumnFigures[];
  can_analyze: boolean;
}

export interface MemoryColumn {
  name: string;
  type: string;
  encoded_bytes: number;
  decoded_bytes: number | null;
  encodings: Record<string, number>;
}

export interface TableMemory {
  mode: "NONE" | "MEMORY" | "MEMORY_ONLY";
  policy: string;
  is_loaded: boolean;
  version: number | null;
  num_rows: number;
  num_blocks: number;
  encoded_bytes: number;
  num_sampled: number;
  num_in_memory: number;
  num_evicted: number;
  reads_from_memory: number;
  reads_from_disk: number;
  reads_loaded: number;
  has_durable_copy: boolean;
  hosts: string[];
  partitions: { name: string; bytes: number }[];
  columns: MemoryColumn[];
}

export interface TableFile {
  path: string;
  bytes: number;
  modified: string | null;
  partition: string;
}

export interface FilesPage {
  files: TableFile[];
  num_files: number | null;
  bytes: number | null;
}

export interface TableChange {
  version: number;
  time: string;
  user: string | null;
  statement: string | null;
  files_added: number;
  files_removed: number;
  rows_added: number | null;
  rows_removed: number | null;
}

export interface LineageTable {
  database: string;
  name: string;
  kind: string;
  step: number;
}

export interface LineageEdge {
  source: string;
  target: string;
  by: string;
  statement: string | null;
  user: string | null;
  query_id: string | null;
  time: string | null;
}

export interface Lineage {
  tables: LineageTable[];
  edges: LineageEdge[];
  is_whole: boolean;
}

export interface TableName {
  database: string;
  name: string;
}

export interface FolderEntry {
  name: string;
  is_folder: boolean;
  bytes: number | null;
  /** The format that a file's name tells. */
  format: string | null;
}

export interface FolderPage {
  entries: FolderEntry[];
  is_whole: boolean;
}

async function read<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return (await (await send(path, signal ? { signal } : {})).json()) as Answer;
}

/** An answer that the server may have sent before: null if it is still the one with this tag. */
async function readNewer<Answer>(path: string, tag: string): Promise<{ answer: Answer; tag: string } | null> {
  const response = await send(path, tag ? { headers: { "If-None-Match": tag } } : {});
  if (response.status === 304) return null;
  return { answer: (await response.json()) as Answer, tag: response.headers.get("ETag") ?? "" };
}

function of<Answer>(part: string): (table: TableName, signal?: AbortSignal, query?: string) => Promise<Answer> {
  return (table, signal, query = "") =>
    read(
      `api/v1/tables/${encodeURIComponent(table.database)}/${encodeURIComponent(table.name)}${part}${query && `?${query}`}`,
      signal,
    );
}

export const tablesApi = {
  catalog: (tag: string, cursor = "") =>
    readNewer<CatalogPage>(`api/v1/catalog${cursor && `?${new URLSearchParams({ cursor })}`}`, tag),
  functions: (tag: string) => readNewer<{ functions: KnownFunction[] }>("api/v1/functions", tag),
  folder: (path: string) => read<FolderPage>(`api/v1/folder?${new URLSearchParams({ path })}`),
  facts: of<TableFacts>(""),
  columns: of<{ columns: TableColumn[]; num_columns: number }>("/columns"),
  size: of<TableSize>("/size"),
  statistics: of<StatisticsPage>("/statistics"),
  memory: of<TableMemory>("/memory"),
  files: of<FilesPage>("/files"),
  history: of<{ changes: TableChange[]; next: number | null }>("/history"),
  lineage: of<Lineage>("/lineage"),
};
