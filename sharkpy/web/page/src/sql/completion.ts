/** What an editor offers at a place of a statement: names of the live catalog, functions and words. */
import { KEYWORDS, TYPES, wordClass } from "./keywords";
import { type Relation, type Scope, scopeAt } from "./scope";

export interface KnownTable {
  database: string;
  name: string;
  kind: string;
}

export interface KnownColumn {
  name: string;
  type: string;
  comment: string | null;
}

export interface KnownFunction {
  name: string;
  kind: string;
  usage: string;
  doc: string;
}

/** Names of the catalog. The columns of a table are asked for when a statement needs them. */
export interface Known {
  databases: readonly string[];
  tables: readonly KnownTable[];
  functions: readonly KnownFunction[];
  columns: (database: string, name: string) => Promise<readonly KnownColumn[]>;
}

export type OfferKind = "database" | "table" | "alias" | "column" | "function" | "keyword" | "type";

export interface Offer {
  kind: OfferKind;
  /** The name as it is shown and searched. */
  label: string;
  /** The text to insert, with quotes if the name needs them. */
  text: string;
  detail: string;
  info: string;
  /** Higher ones come first. */
  rank: number;
}

export interface Offers {
  scope: Scope;
  offers: Offer[];
}

const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const FIRST_WORDS =
  "ALTER ANALYZE CACHE CREATE DELETE DESCRIBE DROP EXPLAIN EXPORT FROM IMPORT INSERT KILL LOAD MERGE PAUSE REFRESH RESET RESTORE RESUME ROLLBACK SELECT SET SHOW SUMMARIZE TRUNCATE UNCACHE UNDROP UPDATE USE VACUUM VALUES WITH".split(
    " ",
  );
const MOST_OFFERS = 3000;

/** A name as a statement writes it: in backticks if it is no plain word, or a word of the language. */
export function quoted(name: string): string {
  return PLAIN.test(name) && wordClass(name) !== "keyword" ? name : `\`${name.replaceAll("`", "``")}\``;
}

/** Offers at a place of a script, or null if there is nothing to offer. */
export async function offersAt(script: string, position: number, known: Known): Promise<Offers | null> {
  const scope = scopeAt(script, position);
  if (scope.expects === "none") return null;
  const offers = scope.qualifier.length ? await qualified(scope, known) : await unqualified(scope, known);
  const unique = new Map<string, Offer>();
  for (const offer of offers) {
    const key = `${offer.kind} ${offer.text}`;
    if (!unique.has(key)) unique.set(key, offer);
  }
  return unique.size ? { scope, offers: [...unique.values()].slice(0, MOST_OFFERS) } : null;
}

async function qualified(scope: Scope, known: Known): Promise<Offer[]> {
  const [first = "", second] = scope.qualifier;
  if (scope.qualifier.length > 2) return [];
  if (second !== undefined) {
    const isTable = known.tables.some((one) => one.database === first && one.name === second);
    return isTable && scope.expects !== "relation" ? columnsOf(first, second, known, 50) : [];
  }
  const tables = known.tables.filter((one) => one.database === first).map((one) => tableOffer(one, 40));
  if (scope.expects === "relation" || scope.expects === "database") return tables;
  const relation = scope.relations.find((one) => one.alias === first);
  const columns = relation ? await columnsOfRelation(relation, scope, known, 50) : [];
  if (columns.length || relation) return columns;
  const functions = known.functions.filter((one) => one.name.startsWith(`${first}.`));
  const own = functions.map((one) => ({ ...functionOffer(one), label: one.name.slice(first.length + 1) }));
  return [...tables, ...own.map((one) => ({ ...one, text: `${quoted(one.label)}(` }))];
}

async function unqualified(scope: Scope, known: Known): Promise<Offer[]> {
  switch (scope.expects) {
    case "statement":
      return keywords(FIRST_WORDS, scope, 10);
    case "database":
      return known.databases.map((name) => databaseOffer(name, 30));
    case "type":
      return keywords(TYPES.toUpperCase().split(" "), scope, 20).map((one) => ({ ...one, kind: "type" as const }));
    case "keyword":
      return keywords(KEYWORDS.toUpperCase().split(" "), scope, 10);
    case "insert":
      return columnsOfAll(scope.relations, scope, known);
    case "relation":
      return relationOffers(scope, known);
    default:
      return expressionOffers(scope, known);
  }
}

function relationOffers(scope: Scope, known: Known): Offer[] {
  const common = scope.commonTables.map((one) => offer("table", one.name, "WITH", `${one.name} of this statement`, 60));
  const own = known.tables.filter((one) => one.database === scope.database);
  const others = known.databases.filter((name) => name !== scope.database);
  const readers = known.functions.filter((one) => one.name.startsWith("read_"));
  return [
    ...common,
    ...own.map((one) => tableOffer(one, 40)),
    ...others.map((name) => databaseOffer(name, 30)),
    ...readers.map(functionOffer),
  ];
}

async function expressionOffers(scope: Scope, known: Known): Promise<Offer[]> {
  const columns = await columnsOfAll(scope.relations, scope, known);
  const aliases = scope.relations
    .filter((one) => one.alias)
    .map((one) => offer("alias", one.alias, one.table ? shownName(one.table) : "subquery", "", 35));
  const functions = known.functions.filter((one) => one.kind !== "function of whole tables").map(functionOffer);
  return [...columns, ...aliases, ...functions, ...keywords(KEYWORDS.toUpperCase().split(" "), scope, 5)];
}

async function columnsOfAll(relations: readonly Relation[], scope: Scope, known: Known): Promise<Offer[]> {
  const found = await Promise.all(relations.map((one) => columnsOfRelation(one, scope, known, 50)));
  return found.flat();
}

async function columnsOfRelation(relation: Relation, scope: Scope, known: Known, rank: number): Promise<Offer[]> {
  const own = relation.columns.map((name) => offer("column", name, relation.alias, "", rank));
  const of = await Promise.all(relation.all.map((one) => columnsOfRelation(one, scope, known, rank)));
  if (!relation.table) return [...own, ...of.flat()];
  const { database, name } = relation.table;
  return columnsOf(database || scope.database, name, known, rank);
}

async function columnsOf(database: string, name: string, known: Known, rank: number): Promise<Offer[]> {
  if (!known.tables.some((one) => one.database === database && one.name === name)) return [];
  const columns = await known.columns(database, name);
  return columns.map((one) => offer("column", one.name, one.type, one.comment ?? "", rank));
}

function shownName(table: { database: string; name: string }): string {
  return table.database ? `${table.database}.${table.name}` : table.name;
}

function tableOffer(table: KnownTable, rank: number): Offer {
  return offer("table", table.name, table.kind, `${table.database}.${table.name}`, rank);
}

function databaseOffer(name: string, rank: number): Offer {
  return offer("database", name, "database", "", rank);
}

function functionOffer(one: KnownFunction): Offer {
  const text = one.name.split(".").map(quoted).join(".");
  const detail = one.kind === "function" ? "" : one.kind;
  return {
    kind: "function",
    label: one.name,
    text: `${text}(`,
    detail,
    info: `${one.usage}\n${one.doc}`.trim(),
    rank: 20,
  };
}

function offer(kind: OfferKind, name: string, detail: string, info: string, rank: number): Offer {
  return { kind, label: name, text: quoted(name), detail, info, rank };
}

function keywords(words: readonly string[], scope: Scope, rank: number): Offer[] {
  if (scope.isQuoted) return [];
  return words.map((word) => {
    const shown = scope.isLowerCase ? word.toLowerCase() : word;
    return { kind: "keyword", label: shown, text: shown, detail: "", info: "", rank };
  });
}
