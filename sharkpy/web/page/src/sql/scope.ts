/** What a place in a statement expects, and the tables, aliases and common table expressions that it can see. */
import { wordClass } from "./keywords";
import { type Token, tokens } from "./tokens";

/** A table, subquery or function after FROM or JOIN. Names are in lower case. */
export interface Relation {
  /** Name by which columns are qualified; "" if there is none. */
  alias: string;
  /** Table of the catalog; its database is "" if the statement does not name it. */
  table: { database: string; name: string } | null;
  /** Columns that the statement itself names. */
  columns: readonly string[];
  /** Relations of which it has all columns. */
  all: readonly Relation[];
}

export interface CommonTable {
  name: string;
  columns: readonly string[];
  all: readonly Relation[];
}

/**
 * `statement`: the first word. `relation`: a table. `insert`: columns of the table in `relations`. `keyword`: a word
 * after a complete expression or relation. `none`: nothing, as in comments, texts and new names.
 */
export type Expects = "none" | "statement" | "relation" | "database" | "type" | "insert" | "keyword" | "expression";

export interface Scope {
  expects: Expects;
  /** Place from which the typed part begins, without the opening quote of a name. */
  from: number;
  /** What a chosen name replaces. */
  replaced: { from: number; to: number };
  /** Names before a full stop, such as `sales` in `sales.|`. */
  qualifier: readonly string[];
  isQuoted: boolean;
  relations: readonly Relation[];
  commonTables: readonly CommonTable[];
  /** Database of the last USE before the statement. */
  database: string;
  isLowerCase: boolean;
}

const SET_OPERATIONS = new Set(["UNION", "INTERSECT", "EXCEPT", "MINUS"]);
const QUERY_WORDS = new Set(["SELECT", "WITH", "FROM", "VALUES", "MAP", "REDUCE"]);
const AFTER_FROM = new Set(
  "WHERE GROUP ORDER HAVING LIMIT WINDOW SELECT INSERT QUALIFY SORT CLUSTER DISTRIBUTE SET WHEN VALUES FETCH OFFSET".split(
    " ",
  ),
);
const RELATION_WORDS = new Set(
  "FROM JOIN UPDATE INTO DESCRIBE EXTENDED FORMATTED HISTORY TABLE VIEW EXISTS CACHE UNCACHE REPAIR TRUNCATE CLONE".split(
    " ",
  ),
);
/** Functions with FROM between their arguments. */
const WITH_FROM = new Set(["EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"]);

/** The tokens of one statement without spaces and comments, with the pairs of its brackets. */
class Statement {
  readonly close = new Map<number, number>();
  readonly open: (number | null)[] = [];

  constructor(
    readonly text: string,
    readonly list: readonly Token[],
  ) {
    const opened: number[] = [];
    for (const [index, token] of list.entries()) {
      const sign = token.kind === "other" ? text[token.from] : "";
      // A closing bracket is in its own pair, since what is typed before it is.
      this.open.push(opened.at(-1) ?? null);
      if (sign === ")") {
        const start = opened.pop();
        if (start !== undefined) this.close.set(start, index);
      }
      if (sign === "(") opened.push(index);
    }
    for (const start of opened) this.close.set(start, list.length);
  }

  sign(index: number): string {
    const token = this.list[index];
    return token?.kind === "other" ? this.text.slice(token.from, token.to) : "";
  }

  word(index: number): string {
    const token = this.list[index];
    return token?.kind === "word" ? this.text.slice(token.from, token.to).toUpperCase() : "";
  }

  isName(index: number): boolean {
    const kind = this.list[index]?.kind;
    return kind === "name" || kind === "word";
  }

  /** A name in lower case, without its quotes; "" for other tokens. */
  name(index: number): string {
    const token = this.list[index];
    if (!token || !this.isName(index)) return "";
    return unquoted(this.text.slice(token.from, token.to)).toLowerCase();
  }

  /** The index after a token, or after its closing bracket. */
  after(index: number): number {
    return this.sign(index) === "(" ? (this.close.get(index) ?? this.list.length) + 1 : index + 1;
  }

  isKeyword(index: number): boolean {
    const word = this.word(index);
    return word !== "" && wordClass(word) === "keyword";
  }

  /** Whether a query begins in the bracket at `open`. */
  hasQuery(open: number): boolean {
    return QUERY_WORDS.has(this.word(open + 1)) || (this.sign(open + 1) === "(" && this.hasQuery(open + 1));
  }
}

function unquoted(name: string): string {
  return name.startsWith("`")
    ? name.slice(1, name.length > 1 && name.endsWith("`") ? -1 : undefined).replaceAll("``", "`")
    : name;
}

/** An alias after a relation, and the index after it. */
function aliasAt(statement: Statement, index: number): [string, number] {
  const at = statement.word(index) === "AS" ? index + 1 : index;
  if (statement.isName(at) && !statement.isKeyword(at)) return [statement.name(at), at + 1];
  return ["", index];
}

interface Read {
  relations: Relation[];
  /** Indexes after complete relations. */
  ends: Set<number>;
}

/** The relations of the tokens from `first` to before `last`, outside of further brackets. */
function relationsOf(statement: Statement, first: number, last: number, known: readonly CommonTable[]): Read {
  const read: Read = { relations: [], ends: new Set() };
  const isMerge = statement.word(0) === "MERGE";
  let isInFrom = false;
  let index = first;
  while (index < last) {
    const word = statement.word(index);
    if (word === "LATERAL" && statement.word(index + 1) === "VIEW") {
      index = lateralView(statement, index + 2, read);
      continue;
    }
    if (AFTER_FROM.has(word)) isInFrom = false;
    const begins =
      (word === "FROM" && statement.word(index - 1) !== "DISTINCT") ||
      word === "JOIN" ||
      (word === "UPDATE" && index === 0) ||
      (isMerge && (word === "INTO" || word === "USING")) ||
      (isInFrom && statement.sign(index) === ",");
    if (!begins) {
      index = statement.after(index);
      continue;
    }
    isInFrom = true;
    index = relationAt(statement, index + 1, last, read, known);
  }
  return read;
}

function relationAt(
  statement: Statement,
  index: number,
  last: number,
  read: Read,
  known: readonly CommonTable[],
): number {
  if (index >= last) return index;
  if (statement.sign(index) === "(") {
    const end = Math.min(last, statement.close.get(index) ?? last);
    const [alias, after] = aliasAt(statement, end + 1);
    if (statement.hasQuery(index)) {
      const body = selected(statement, index + 1, end, known);
      read.relations.push({ alias, table: null, ...body });
    } else {
      const first = relationAt(statement, index + 1, end, read, known);
      const rest = relationsOf(statement, first, end, known);
      read.relations.push(...rest.relations);
    }
    read.ends.add(after);
    return after;
  }
  if (statement.list[index]?.kind === "string") {
    const [alias, after] = aliasAt(statement, index + 1);
    read.relations.push({ alias, table: null, columns: [], all: [] });
    read.ends.add(after);
    return after;
  }
  if (!statement.isName(index) || statement.isKeyword(index)) return index;
  const parts = [statement.name(index)];
  let at = index + 1;
  while (statement.sign(at) === "." && statement.isName(at + 1) && at + 1 < last) {
    parts.push(statement.name(at + 1));
    at += 2;
  }
  const isFunction = statement.sign(at) === "(";
  if (isFunction) at = statement.after(at);
  const [alias, after] = aliasAt(statement, at);
  const name = parts.at(-1) ?? "";
  const common = parts.length === 1 ? known.find((one) => one.name === name) : undefined;
  read.relations.push(
    common
      ? { alias: alias || name, table: null, columns: common.columns, all: common.all }
      : {
          alias: alias || name,
          table: isFunction ? null : { database: parts.length > 1 ? (parts.at(-2) ?? "") : "", name },
          columns: [],
          all: [],
        },
  );
  read.ends.add(after);
  return after;
}

/** LATERAL VIEW [OUTER] f(…) alias AS column, column */
function lateralView(statement: Statement, start: number, read: Read): number {
  let index = statement.word(start) === "OUTER" ? start + 1 : start;
  while (statement.isName(index) || statement.sign(index) === ".") index++;
  if (statement.sign(index) === "(") index = statement.after(index);
  const alias = statement.isKeyword(index) ? "" : statement.name(index);
  if (alias) index++;
  const columns: string[] = [];
  if (statement.word(index) === "AS") {
    do {
      const name = statement.name(index + 1);
      if (name) columns.push(name);
      index += 2;
    } while (statement.sign(index) === ",");
  }
  read.relations.push({ alias, table: null, columns, all: [] });
  read.ends.add(index);
  return index;
}

/** The columns of a query in the tokens from `first` to before `last`. */
function selected(
  statement: Statement,
  first: number,
  last: number,
  known: readonly CommonTable[],
): { columns: string[]; all: Relation[] } {
  let start = first;
  while (start < last && statement.word(start) !== "SELECT")
    start = statement.sign(start) === "(" && start === first ? start + 1 : statement.after(start);
  const end = segmentEnd(statement, start, last);
  const { relations } = relationsOf(statement, first, end, known);
  const columns: string[] = [];
  const all: Relation[] = [];
  let item = start + 1;
  if (["DISTINCT", "ALL"].includes(statement.word(item))) item++;
  for (let index = item; index <= end; index = statement.after(index)) {
    const isLast = index >= end || ["FROM", "WHERE", "GROUP", "LATERAL"].includes(statement.word(index));
    if (!isLast && statement.sign(index) !== ",") continue;
    addItem(statement, item, index, relations, columns, all);
    if (isLast) break;
    item = index + 1;
  }
  return { columns, all };
}

function addItem(
  statement: Statement,
  from: number,
  to: number,
  relations: readonly Relation[],
  columns: string[],
  all: Relation[],
): void {
  const last = to - 1;
  if (last < from) return;
  if (statement.sign(last) === "*") {
    const alias = statement.sign(last - 1) === "." ? statement.name(last - 2) : "";
    all.push(...relations.filter((one) => !alias || one.alias === alias));
  } else if (statement.isName(last) && (statement.list[last]?.kind === "name" || !statement.isKeyword(last))) {
    const before = statement.list[last - 1];
    const isOperand = last === from || statement.sign(last - 1) === "." || statement.sign(last - 1) === ")";
    if (isOperand || (before && before.kind !== "other")) columns.push(statement.name(last));
  }
}

/** The index at which a query of a UNION ends. */
function segmentEnd(statement: Statement, first: number, last: number): number {
  let index = first;
  while (index < last && !SET_OPERATIONS.has(statement.word(index))) index = statement.after(index);
  return Math.min(index, last);
}

function commonTablesOf(statement: Statement): CommonTable[] {
  const found: CommonTable[] = [];
  for (let index = 1; index < statement.list.length; index++) {
    const before = statement.word(index - 1);
    if (
      !statement.isName(index) ||
      !(before === "WITH" || before === "RECURSIVE" || statement.sign(index - 1) === ",")
    ) {
      continue;
    }
    const hasColumns = statement.sign(index + 1) === "(";
    const at = hasColumns ? statement.after(index + 1) : index + 1;
    if (statement.word(at) !== "AS" || statement.sign(at + 1) !== "(" || !statement.hasQuery(at + 1)) continue;
    const end = statement.close.get(at + 1) ?? statement.list.length;
    const body = selected(statement, at + 2, end, found);
    const given: string[] = [];
    for (let one = index + 2; hasColumns && one < at - 1; one += 2) given.push(statement.name(one));
    found.push({ name: statement.name(index), ...(given.length ? { columns: given, all: [] } : body) });
  }
  return found;
}

const NOTHING: Omit<Scope, "from" | "replaced"> = {
  expects: "none",
  qualifier: [],
  isQuoted: false,
  relations: [],
  commonTables: [],
  database: "default",
  isLowerCase: false,
};

/** What the place `position` of a script expects. */
export function scopeAt(script: string, position: number): Scope {
  const all = tokens(script);
  const nothing = { ...NOTHING, from: position, replaced: { from: position, to: position } };
  const around = all.find((token) => token.from < position && position <= token.to);
  if (around && isClosedTo(script, around, position)) return nothing;
  const first = all.findLastIndex((token) => token.kind === "end" && token.to <= position) + 1;
  const next = all.findIndex((token) => token.kind === "end" && token.from >= position);
  const list = all
    .slice(first, next < 0 ? undefined : next)
    .filter((token) => token.kind !== "space" && token.kind !== "comment");
  const statement = new Statement(script, list);
  const current = list.findIndex(
    (token) => (token.kind === "word" || token.kind === "name") && token.from < position && position <= token.to,
  );
  const at = current >= 0 ? current : list.filter((token) => token.to <= position).length;
  const token = current >= 0 ? list[current] : undefined;
  const isQuoted = token?.kind === "name";
  const qualifier: string[] = [];
  let start = at;
  while (statement.sign(start - 1) === "." && statement.isName(start - 2)) {
    qualifier.unshift(statement.name(start - 2));
    start -= 2;
  }
  if (statement.sign(start - 1) === ".") return nothing;
  const commonTables = commonTablesOf(statement);
  const visible = visibleRelations(statement, at, commonTables);
  const from = token ? token.from + (isQuoted ? 1 : 0) : position;
  const expects = expectedAt(statement, start, visible.ends);
  return {
    expects,
    from,
    replaced: { from: token?.from ?? position, to: isQuoted ? (token?.to ?? position) : position },
    qualifier,
    isQuoted,
    relations: expects === "insert" ? insertTarget(statement, at) : visible.relations,
    commonTables,
    database: databaseBefore(script, all.slice(0, first)),
    isLowerCase: isLowerCase(statement, at),
  };
}

/** Whether a place is in a text, a comment, a number or a parameter. */
function isClosedTo(script: string, token: Token, position: number): boolean {
  const last = script[token.to - 1];
  switch (token.kind) {
    case "comment":
      return position < token.to || !script.slice(token.from, token.to).endsWith("*/") || token.to - token.from < 4;
    case "string":
      return position < token.to || token.to - token.from < 2 || last !== script[token.from];
    case "number":
    case "parameter":
      return true;
    case "name":
      return position === token.to && token.to - token.from > 1 && last === "`";
    default:
      return false;
  }
}

/** Relations that an expression at an index sees: of its own query, then of the queries around it. */
function visibleRelations(statement: Statement, at: number, known: readonly CommonTable[]): Read {
  const found: Read = { relations: [], ends: new Set() };
  let inner = at;
  let open = openAround(statement, at);
  for (;;) {
    const start = open === null ? 0 : open + 1;
    const end = open === null ? statement.list.length : (statement.close.get(open) ?? statement.list.length);
    let first = start;
    for (let index = start; index < inner; index = statement.after(index)) {
      if (SET_OPERATIONS.has(statement.word(index))) first = index + 1;
    }
    const read = relationsOf(statement, first, segmentEnd(statement, Math.max(first, inner), end), known);
    found.relations.push(...read.relations);
    for (const one of read.ends) found.ends.add(one);
    if (open === null) return found;
    const before = statement.word(open - 1);
    const isDerived = ["FROM", "JOIN", "AS"].includes(before) || statement.sign(open - 1) === ",";
    if (statement.hasQuery(open) && isDerived) return found;
    inner = open;
    open = statement.open[open] ?? null;
  }
}

/** The bracket around a place before the token at `at`, which may be the end. */
function openAround(statement: Statement, at: number): number | null {
  if (at < statement.list.length) return statement.open[at] ?? null;
  const last = statement.list.length - 1;
  if (statement.sign(last) === "(") return last;
  const open = statement.open[last] ?? null;
  return statement.sign(last) === ")" && open !== null ? (statement.open[open] ?? null) : open;
}

function insertTarget(statement: Statement, at: number): Relation[] {
  const open = openAround(statement, at);
  if (open === null) return [];
  const name = statement.name(open - 1);
  const database = statement.sign(open - 2) === "." ? statement.name(open - 3) : "";
  return [{ alias: name, table: { database, name }, columns: [], all: [] }];
}

function isInsertList(statement: Statement, open: number): boolean {
  if (!statement.isName(open - 1) || statement.isKeyword(open - 1)) return false;
  const before = statement.sign(open - 2) === "." ? open - 4 : open - 2;
  const word = statement.word(before);
  if (word === "INTO") return statement.word(0) !== "MERGE";
  return word === "TABLE" && ["INTO", "OVERWRITE"].includes(statement.word(before - 1));
}

function expectedAt(statement: Statement, start: number, ends: ReadonlySet<number>): Expects {
  if (start === 0) return "statement";
  const previous = start - 1;
  const word = statement.word(previous);
  const begin = statement.word(0);
  const open = openAround(statement, start);
  if (open !== null && isInsertList(statement, open)) return "insert";
  const caller = open === null ? "" : statement.word(open - 1);
  if (word === "USE") return "database";
  if (begin === "SHOW" && (word === "IN" || word === "FROM")) {
    return ["COLUMNS", "PARTITIONS", "TBLPROPERTIES"].includes(statement.word(1)) ? "relation" : "database";
  }
  if (word === "AS") {
    if (caller.endsWith("CAST")) return "type";
    return begin === "CREATE" && open === null ? "keyword" : "none";
  }
  if (word === "FROM" && (statement.word(previous - 1) === "DISTINCT" || WITH_FROM.has(caller))) return "expression";
  if (word === "DESC") return previous === 0 ? "relation" : "keyword";
  if (word === "DATABASE" || word === "SCHEMA") return begin === "CREATE" ? "none" : "database";
  if (begin === "CREATE" && (word === "TABLE" || word === "VIEW" || word === "EXISTS")) return "keyword";
  if (word === "LIKE" && begin === "CREATE" && open === null) return "relation";
  if (word === "USING" && begin === "MERGE" && open === null) return "relation";
  if (word === "EXISTS" && begin !== "DROP") return "expression";
  if (word === "INTO" || word === "FROM" || RELATION_WORDS.has(word)) return "relation";
  if (statement.sign(previous) === "," && ends.has(previous)) return "relation";
  if (ends.has(start)) return "keyword";
  const token = statement.list[previous];
  const isOperand =
    token?.kind === "number" ||
    token?.kind === "string" ||
    token?.kind === "name" ||
    token?.kind === "parameter" ||
    statement.sign(previous) === ")" ||
    (token?.kind === "word" && (!statement.isKeyword(previous) || ["END", "NULL", "TRUE", "FALSE"].includes(word)));
  return isOperand ? "keyword" : "expression";
}

/** Database of the last USE in the statements before. */
function databaseBefore(script: string, before: readonly Token[]): string {
  const list = before.filter((token) => token.kind !== "space" && token.kind !== "comment");
  const words = new Statement(script, list);
  let database = "default";
  for (const index of list.keys()) {
    const begins = index === 0 || list[index - 1]?.kind === "end";
    if (begins && words.word(index) === "USE") database = words.name(index + 1) || database;
  }
  return database;
}

/** Whether the keywords before a place are in lower case. */
function isLowerCase(statement: Statement, at: number): boolean {
  for (let index = at - 1; index >= 0; index--) {
    const token = statement.list[index];
    if (!token || !statement.isKeyword(index)) continue;
    const text = statement.text.slice(token.from, token.to);
    return text === text.toLowerCase();
  }
  return false;
}
