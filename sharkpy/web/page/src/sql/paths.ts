/** Paths in texts of a statement: the places that expect a file or a folder, and what continues a path there. */
import { bytes } from "../format";
import type { FolderEntry } from "../pages/tables/api";
import { scopeAt } from "./scope";
import { type Token, tokens } from "./tokens";

/** `folder`: only folders. `data`: files whose name tells their format. `file`: all files. */
export type Wanted = "folder" | "data" | "file";

export interface PathPlace {
  wanted: Wanted;
  /** The path as it is typed up to the cursor, without escapes. */
  path: string;
  /** Place after the last slash, from which the chosen name is written. */
  from: number;
  quote: string;
}

export interface PathOffer {
  label: string;
  /** What is written: the name with escapes, and a slash after a folder. */
  text: string;
  detail: string;
  isFolder: boolean;
}

const FORMATS = new Set("PARQUET ORC AVRO JSON CSV TEXT ICEBERG DELTA".split(" "));
const BEFORE_FILES = new Set(["FROM", "JOIN", ",", "DESCRIBE", "DESC"]);
const READERS = /^READ_(CSV|JSON|NDJSON|PARQUET|ORC|AVRO)$/;

/** The path around a place of a script, or null if no path is expected there. */
export function pathAt(script: string, position: number): PathPlace | null {
  const all = tokens(script.slice(0, position));
  const token = all.pop();
  if (!token || (token.kind !== "string" && token.kind !== "name")) return null;
  const quote = script[token.from] ?? "";
  const typed = script.slice(token.from + 1, position);
  if (isComplete(typed, quote)) return null;
  const begin = all.findLastIndex((one) => one.kind === "end") + 1;
  const before = all.slice(begin).filter((one) => one.kind !== "space" && one.kind !== "comment");
  const wanted = wantedAfter(new Words(script, before), token, quote === "`" && !typed.includes("/"));
  if (!wanted) return null;
  return {
    wanted,
    path: unescaped(typed, quote),
    from: token.from + 1 + typed.lastIndexOf("/") + 1,
    quote,
  };
}

/** Whether the text after an opening quote has the closing one. */
function isComplete(text: string, quote: string): boolean {
  const rest = quote === "`" ? text.replaceAll("``", "") : text.replace(/\\[\s\S]/g, "");
  return rest.endsWith(quote);
}

/** The words and signs before a place, counted back from it. */
class Words {
  constructor(
    readonly script: string,
    readonly list: readonly Token[],
  ) {}

  back(steps: number): string {
    const token = this.list.at(-steps);
    if (steps < 1 || !token || token.kind === "string" || token.kind === "name") return "";
    return this.script.slice(token.from, token.to).toUpperCase();
  }

  get first(): string {
    return this.back(this.list.length);
  }

  isString(steps: number): boolean {
    return this.list.at(-steps)?.kind === "string";
  }
}

/** What is wanted after some words. A plain name in backticks is a table, except after the word of a format. */
function wantedAfter(words: Words, token: Token, isName: boolean): Wanted | null {
  const [one, two, three] = [words.back(1), words.back(2), words.back(3)];
  if (one === "." && FORMATS.has(two)) {
    const format = words.list.at(-2);
    return format && isRelation(words, format.from, three) ? "file" : null;
  }
  if (isName) return null;
  if (one === "LOCATION" || one === "MANAGEDLOCATION") return "folder";
  if (one === "FOLDER" && (two === "FROM" || two === "TO")) return "folder";
  if (one === "DIRECTORY" && (two === "OVERWRITE" || two === "LOCAL")) return "folder";
  if (one === "TO" && words.first === "EXPORT") return "folder";
  if (one === "FROM" && words.first === "IMPORT") return "folder";
  if (one === "INPATH") return "file";
  if (FORMATS.has(one) && (two === "LIKE" || (two === "FILE" && three === "LIKE"))) return "file";
  if (one === "PATH" && two === "(" && three === "OPTIONS") return "file";
  if (isReader(words)) return "file";
  return one === "SUMMARIZE" || isRelation(words, token.from, one) ? "data" : null;
}

/** Whether a table is expected at a place after `word`, where a query may also name files. */
function isRelation(words: Words, place: number, word: string): boolean {
  if (!BEFORE_FILES.has(word) || words.first === "SHOW" || words.first === "DELETE") return false;
  return scopeAt(`${words.script.slice(0, place)} `, place + 1).expects === "relation";
}

/** Whether the place is the first argument of a function that reads files, or an item of its list. */
function isReader(words: Words): boolean {
  let steps = 1;
  if (words.back(1) === "[" || words.back(1) === ",") {
    while (words.back(steps) === "," && words.isString(steps + 1)) steps += 2;
    if (words.back(steps) !== "[") return false;
    steps++;
  }
  return words.back(steps) === "(" && READERS.test(words.back(steps + 1));
}

function unescaped(text: string, quote: string): string {
  return quote === "`" ? text.replaceAll("``", "`") : text.replace(/\\([\s\S])/g, "$1");
}

function escaped(name: string, quote: string): string {
  if (quote === "`") return name.replaceAll("`", "``");
  return name.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`);
}

/** The entries of a folder that a place wants. */
export function pathOffers(place: PathPlace, entries: readonly FolderEntry[]): PathOffer[] {
  const isWanted = (one: FolderEntry) =>
    one.is_folder || place.wanted === "file" || (place.wanted === "data" && one.format !== null);
  return entries.filter(isWanted).map((one) => ({
    label: one.is_folder ? `${one.name}/` : one.name,
    text: escaped(one.name, place.quote) + (one.is_folder ? "/" : ""),
    detail: one.is_folder ? "" : [one.format, bytes(one.bytes)].filter(Boolean).join(", "),
    isFolder: one.is_folder,
  }));
}
