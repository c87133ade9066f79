/** Kinds of tables: their icons, and the addresses of tables. */
import type { IconName } from "../../parts/icons";
import type { TableName } from "./api";

export function kindIcon(kind: string): IconName {
  if (kind.includes("view")) return "eye";
  if (kind.startsWith("continuous") || kind === "stream") return "stream";
  return kind === "system table" ? "system" : "grid";
}

/** The path of a table's page. */
export function placeOf(table: TableName): string {
  return `/tables/${encodeURIComponent(table.database)}/${encodeURIComponent(table.name)}`;
}
