/** Tokens of HiveQL: what is text, a comment, a number or a word. The shell reads statements by the same rules. */

export type TokenKind = "comment" | "string" | "name" | "number" | "word" | "parameter" | "end" | "space" | "other";

export interface Token {
  kind: TokenKind;
  from: number;
  to: number;
}

const PIECE = new RegExp(
  [
    /(?<comment>--[^\n]*|\/\*(?!\+)[\s\S]*?(?:\*\/|$))/u,
    /(?<string>'[^'\\]*(?:\\[\s\S][^'\\]*)*(?:'|$)|"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|$))/u,
    /(?<name>`[^`]*(?:``[^`]*)*(?:`|$))/u,
    /(?<end>;)/u,
    /(?<space>\s+)/u,
    /(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[a-zA-Z]{0,2}(?![\w$]))/u,
    /(?<word>[\p{L}_\d][\p{L}\p{N}_$]*)/u,
    /(?<other>\\;|::|[\s\S])/u,
  ]
    .map((part) => part.source)
    .join("|"),
  "gu",
);

const PARAMETER = /:[\p{L}_][\p{L}\p{N}_]*/uy;

export function tokens(text: string): Token[] {
  const found: Token[] = [];
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < text.length) {
    const from = PIECE.lastIndex;
    const previous = found.at(-1);
    // `a:b` is a part of a value and `::` a cast; a parameter follows neither a word nor a bracket.
    if (text[from] === ":" && !(previous && /[\w:\])`"']$/.test(text.slice(previous.from, previous.to)))) {
      PARAMETER.lastIndex = from;
      if (PARAMETER.test(text)) {
        found.push({ kind: "parameter", from, to: PARAMETER.lastIndex });
        PIECE.lastIndex = PARAMETER.lastIndex;
        continue;
      }
    }
    const match = PIECE.exec(text);
    if (!match?.groups) break;
    const kind = Object.keys(match.groups).find((name) => match.groups?.[name] !== undefined) as TokenKind;
    found.push({ kind, from, to: from + match[0].length });
  }
  return found;
}

export interface Statement {
  /** Text without the semicolon, and with `\;` as `;`. */
  text: string;
  from: number;
  to: number;
}

/** Split a script at semicolons outside of quotes and comments. Empty statements are left out. */
export function splitStatements(text: string): Statement[] {
  const statements: Statement[] = [];
  let start = -1;
  let escapes: number[] = [];
  function close(end: number): void {
    if (start < 0) return;
    const to = start + text.slice(start, end).trimEnd().length;
    let statement = "";
    let from = start;
    for (const place of escapes) {
      statement += text.slice(from, place);
      from = place + 1;
    }
    statements.push({ text: statement + text.slice(from, to), from: start, to });
    start = -1;
    escapes = [];
  }
  for (const token of tokens(text)) {
    if (token.kind === "end") close(token.from);
    else if (token.kind !== "comment" && token.kind !== "space") {
      if (start < 0) start = token.from;
      if (text[token.from] === "\\" && text[token.from + 1] === ";") escapes.push(token.from);
    }
  }
  close(text.length);
  return statements;
}

/** The statement at a position: the one around it, else the next one, else the last one. */
export function statementAt(text: string, position: number): Statement | undefined {
  const statements = splitStatements(text);
  return (
    statements.find((statement) => position >= statement.from && position <= statement.to + 1) ??
    statements.find((statement) => statement.from >= position) ??
    statements.at(-1)
  );
}

/** Names of `:name` parameters, in the order of their first use. */
export function parameterNames(text: string): string[] {
  const names = tokens(text)
    .filter((token) => token.kind === "parameter")
    .map((token) => text.slice(token.from + 1, token.to));
  return [...new Set(names)];
}
