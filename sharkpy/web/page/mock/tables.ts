/** Invented tables: `shop` as people have it, `many` with 5,000 tables, and one table with 1,000 columns. */
import type { ServerResponse } from "node:http";
import type { FolderEntry, FolderPage, Lineage, TableColumn, TableFacts } from "../src/pages/tables/api.ts";
import type { KnownTable } from "../src/sql/completion.ts";
import { HOSTILE } from "./data.ts";

const SHOP: readonly [string, string][] = [
  ["best_days", "view"],
  ["by_region", "table"],
  ["clicks", "stream"],
  ["customers", "table"],
  ["daily_orders", "continuous table"],
  ["odd name `%", "table"],
  ["orders", "table"],
  ["returns", "external table"],
  ["wide", "table"],
];
const TYPES = ["bigint", "string", "decimal(10,2)", "date", "timestamp", "array<string>", "boolean"];
const NAMES = ["id", "customer", "amount", "day", "placed", "tags", "is_paid"];

function tablesOf(isHostile: boolean): KnownTable[] {
  return [
    ...Array.from({ length: 5000 }, (_, index) => ({
      database: "many",
      name: `table_${String(index).padStart(4, "0")}`,
      kind: "table",
    })),
    { database: "default", name: "flights", kind: "table" },
    ...SHOP.map(([name, kind]) => ({ database: "shop", name: isHostile ? `${HOSTILE}${name}` : name, kind })),
    { database: "sys", name: "queries", kind: "system table" },
  ].sort((a, b) => (`${a.database}.${a.name}` < `${b.database}.${b.name}` ? -1 : 1));
}

function catalogOf(isHostile: boolean, isEmpty: boolean) {
  const tables = isEmpty ? [] : tablesOf(isHostile);
  const count = (database: string) => tables.filter((one) => one.database === database).length;
  return {
    databases: ["default", "many", "shop", "sys"].map((name) => ({
      name,
      comment: name === "shop" ? (isHostile ? HOSTILE : "Orders of the shop") : null,
      num_tables: count(name),
      is_system: name === "sys",
    })),
    tables,
    next: null,
  };
}

function columnsOf(table: KnownTable, isHostile: boolean): TableColumn[] {
  const names = table.name.endsWith("wide") ? Array.from({ length: 1000 }, (_, index) => `column_${index}`) : NAMES;
  return names.map((name, index) => ({
    name: isHostile ? `${HOSTILE}${name}` : name,
    type: TYPES[index % TYPES.length] ?? "string",
    comment: isHostile ? HOSTILE : index === 0 ? "Number of the order, from the shop's own counter" : null,
    is_partition: index === 3 && names === NAMES,
    is_required: index === 0,
    default: index === 6 ? "false" : null,
  }));
}

function factsOf(table: KnownTable, isHostile: boolean): TableFacts {
  const isView = table.kind === "view";
  return {
    ...table,
    comment: isHostile ? HOSTILE : table.name === "orders" ? "One row for each order, since 2019" : null,
    owner: isHostile ? HOSTILE : "ada",
    created: "2026-03-04T10:15:00Z",
    format: isView ? null : "parquet",
    location: isView ? null : `/data/warehouse/shop.db/${table.name}`,
    num_columns: columnsOf(table, isHostile).length,
    partition_columns: isView ? [] : ["day"],
    bucket_columns: [],
    num_buckets: null,
    properties: [{ name: isHostile ? HOSTILE : "shark.cache", value: isHostile ? HOSTILE : "MEMORY" }],
    facts: table.kind === "stream" ? [{ name: "Source", value: "FOLDER (format=json)" }] : [],
    ddl: `CREATE TABLE \`${table.database}\`.\`${table.name}\`(\n  \`id\` bigint COMMENT '${isHostile ? HOSTILE : "Number of the order"}',\n  \`customer\` string,\n  \`amount\` decimal(10,2))\nPARTITIONED BY (\`day\` date)\nSTORED AS PARQUET\nTBLPROPERTIES (\n  'shark.cache'='MEMORY')`,
    has_files: !isView,
    has_history: table.kind === "table",
    is_cached: table.name.endsWith("orders"),
  };
}

function statisticsOf(columns: TableColumn[], first: number, isHostile: boolean) {
  return {
    columns: columns.map((column, place) => {
      const index = (first + place) % TYPES.length;
      const isNested = column.type.startsWith("array");
      return {
        name: column.name,
        source: "blocks",
        num_rows: 12_400_000,
        num_nulls: [0, 310_000, 0, 0, 6_200_000, 40, 0][index] ?? 0,
        num_distinct: isNested ? null : ([12_400_000, 48_210, 9_950, 2_210, 8_000_000, 0, 2][index] ?? 0),
        low: isNested
          ? null
          : isHostile
            ? HOSTILE
            : (["1", "Ada Byron", "0.50", "2019-01-01", "2019-01-01 00:00:12", "", "false"][index] ?? ""),
        high: isNested
          ? null
          : isHostile
            ? HOSTILE
            : (["12400000", "Zoe Zimmer", "9840.00", "2026-02-28", "2026-02-28 23:59:58", "", "true"][index] ?? ""),
        average_length: null,
        max_length: null,
        num_true: null,
        values: index === 6 ? ["false", "true"] : null,
      };
    }),
    can_analyze: true,
  };
}

const ENCODINGS: readonly Record<string, number>[] = [
  { delta: 1 },
  { dictionary: 0.75, plain: 0.25 },
  { narrow: 1 },
  { runs: 1 },
  { narrow: 1 },
  { block: 1 },
  { constant: 1 },
];

function memoryOf(table: KnownTable, columns: TableColumn[]) {
  const isLoaded = table.name.endsWith("orders");
  return {
    mode: isLoaded ? "MEMORY" : "NONE",
    policy: isLoaded ? "All" : "",
    is_loaded: isLoaded,
    version: isLoaded ? 214 : null,
    num_rows: isLoaded ? 12_400_000 : 0,
    num_blocks: isLoaded ? 124 : 0,
    encoded_bytes: isLoaded ? 218_000_000 : 0,
    num_sampled: isLoaded ? 124 : 0,
    num_in_memory: isLoaded ? 118 : 0,
    num_evicted: isLoaded ? 6 : 0,
    reads_from_memory: isLoaded ? 48_210 : 0,
    reads_from_disk: isLoaded ? 1_312 : 0,
    reads_loaded: isLoaded ? 124 : 0,
    has_durable_copy: isLoaded,
    hosts: [],
    partitions: [],
    columns: isLoaded
      ? columns.map((column, index) => ({
          name: column.name,
          type: column.type,
          encoded_bytes: [1_550_000, 31_000_000, 24_800_000, 12_400, 49_600_000, 110_000_000, 96][index % 7] ?? 0,
          decoded_bytes:
            [100_750_000, 241_000_000, 199_900_000, 51_150_000, 100_750_000, 198_000_000, 3_100_000][index % 7] ?? 0,
          encodings: ENCODINGS[index % 7] ?? {},
        }))
      : [],
  };
}

function lineageOf(table: KnownTable, isHostile: boolean): Lineage {
  const shown = (name: string) => (isHostile ? `${HOSTILE}${name}` : name);
  const at = (name: string, kind: string, step: number) => ({ database: "shop", name: shown(name), kind, step });
  const edge = (source: string, target: string, by: string) => ({
    source: `shop.${shown(source)}`,
    target: `shop.${shown(target)}`,
    by,
    statement: by === "statement" ? (isHostile ? HOSTILE : `INSERT INTO ${target} SELECT * FROM ${source}`) : null,
    user: by === "statement" ? (isHostile ? HOSTILE : "ada") : null,
    query_id: by === "statement" ? "2026-099990" : null,
    time: by === "statement" ? "2026-03-04T10:15:00Z" : null,
  });
  if (table.database !== "shop") return { tables: [{ ...table, step: 0 }], edges: [], is_whole: true };
  return {
    tables: [
      { ...table, step: 0 },
      at("clicks", "stream", -2),
      at("daily_orders", "continuous table", -1),
      at("customers", "table", -1),
      at("returns", "external table", -1),
      at("by_region", "table", 1),
      at("best_days", "view", 2),
      at("wide", "table", 2),
    ],
    edges: [
      edge("clicks", "daily_orders", "continuous query"),
      { ...edge("daily_orders", "x", "statement"), target: `${table.database}.${table.name}` },
      { ...edge("customers", "x", "statement"), target: `${table.database}.${table.name}` },
      { ...edge("returns", "x", "statement"), target: `${table.database}.${table.name}` },
      { ...edge("x", "by_region", "statement"), source: `${table.database}.${table.name}` },
      edge("by_region", "best_days", "view"),
      edge("by_region", "wide", "statement"),
    ],
    is_whole: false,
  };
}

function historyOf(isHostile: boolean, before: number) {
  const first = Math.min(before, 120);
  const changes = Array.from({ length: Math.min(50, first - 1) }, (_, index) => {
    const version = first - 1 - index;
    return {
      version,
      time: new Date(Date.UTC(2026, 2, 4, 10) + version * 3.6e6).toISOString(),
      user: isHostile ? HOSTILE : version % 4 ? "ada" : null,
      statement: isHostile
        ? HOSTILE
        : version % 4
          ? "INSERT INTO shop.orders\nSELECT * FROM staged WHERE day = '2026-03-04'"
          : null,
      files_added: 1 + (version % 3),
      files_removed: version % 10 ? 0 : 12,
      rows_added: 40_000 + version * 137,
      rows_removed: version % 10 ? 0 : 33_000,
    };
  });
  return { changes, next: changes.length === 50 ? (changes.at(-1)?.version ?? null) : null };
}

/** A current folder with `sales/2026/…`, `flights.csv` and names that a statement has to quote. */
function folderOf(path: string, isHostile: boolean): FolderPage {
  const file = (name: string, size: number, format: string | null) => ({ name, is_folder: false, bytes: size, format });
  const inside = (name: string) => ({ name, is_folder: true, bytes: null, format: null });
  const folders: Record<string, FolderEntry[]> = {
    "": [file("flights.csv", 31_053_850, "csv"), file("it's.json", 820, "json"), file("notes", 12, null)],
    "sales/": [inside("2026"), file("all.parquet", 4_194_304, "parquet")],
    "sales/2026/": [file("january.csv", 2048, "csv")],
  };
  const above = path.slice(0, path.lastIndexOf("/") + 1);
  const found = [
    ...(folders[above] ?? []),
    ...(above ? [] : [inside("sales"), ...(isHostile ? [inside(HOSTILE)] : [])]),
  ];
  return { entries: found.filter((one) => one.name.startsWith(path.slice(above.length))), is_whole: true };
}

export interface MockCookies {
  isHostile: boolean;
  isEmpty: boolean;
}

/** The answer to a call about the catalog or a table; undefined for other paths, null for a table that is missing. */
export function answerTables(url: URL, cookies: MockCookies): unknown {
  const [, , , group, database, table, part = ""] = url.pathname.split("/").map(decodeURIComponent);
  const { isHostile, isEmpty } = cookies;
  if (group === "catalog") return catalogOf(isHostile, isEmpty);
  if (group === "functions") {
    return {
      functions: [
        { name: "sum", kind: "aggregate", usage: "sum(x)", doc: "sum of the values" },
        {
          name: "substr",
          kind: "function",
          usage: "substr(text, from[, length])",
          doc: isHostile ? HOSTILE : "part of a text",
        },
      ],
    };
  }
  if (group === "folder") return folderOf(url.searchParams.get("path") ?? "", isHostile);
  if (group !== "tables") return undefined;
  const found = tablesOf(isHostile).find((one) => one.database === database && one.name === table);
  if (!found) return null;
  const offset = Number(url.searchParams.get("offset") ?? 0);
  const limit = Number(url.searchParams.get("limit") ?? 2000);
  const columns = columnsOf(found, isHostile);
  const page = columns.slice(offset, offset + limit);
  switch (part) {
    case "":
      return factsOf(found, isHostile);
    case "columns":
      return { columns: page, num_columns: columns.length };
    case "size":
      return found.kind === "view"
        ? { num_files: null, bytes: null, rows: null, rows_from: null }
        : { num_files: 1240, bytes: 640_000_000, rows: 12_400_000, rows_from: "memory" };
    case "statistics":
      // The server ends a page early if it takes long.
      return statisticsOf(page.slice(0, 20), offset, isHostile);
    case "memory":
      return memoryOf(found, page);
    case "files":
      return {
        files: Array.from({ length: Math.min(limit, 1240 - offset) }, (_, index) => ({
          path: `/data/warehouse/shop.db/orders/day=2026-02-${(index % 28) + 1}/${isHostile ? HOSTILE : "part"}-${offset + index}.parquet`,
          bytes: 400_000 + index * 1313,
          modified: "2026-03-04T10:15:00Z",
          partition: `day=2026-02-${(index % 28) + 1}`,
        })),
        num_files: 1240,
        bytes: 640_000_000,
      };
    case "history":
      return historyOf(isHostile, Number(url.searchParams.get("before") ?? 1e9));
    default:
      return lineageOf(found, isHostile);
  }
}

export function sendTables(response: ServerResponse, answer: unknown): void {
  response.statusCode = answer === null ? 404 : 200;
  response.setHeader("Content-Type", "application/json");
  response.end(
    JSON.stringify(
      answer ?? {
        error: { message: "there is no such table", sqlstate: "42S02", line: null, column: null, hint: null },
      },
    ),
  );
}
