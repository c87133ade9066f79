/** HiveQL with colours, line numbers, and the place of an error. */
import type { JSX } from "preact";
import type { SqlError } from "../api";
import { oneLine } from "../format";
import { wordClass } from "../sql/keywords";
import { tokens } from "../sql/tokens";
import "../styles/sql_text.css";

interface Piece {
  text: string;
  kind: string;
}

/** Pieces of each line of a text, with the class of their colour. */
export function colouredLines(text: string): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const token of tokens(text)) {
    const whole = text.slice(token.from, token.to);
    const kind = token.kind === "word" ? (wordClass(whole) ?? "") : token.kind;
    for (const [index, part] of whole.split("\n").entries()) {
      if (index) lines.push([]);
      if (part) lines.at(-1)?.push({ text: part, kind });
    }
  }
  return lines;
}

const MOST_CHARACTERS = 400;

/** A statement on one line, without its comments. */
export function oneLineSql(text: string): string {
  let line = "";
  for (const token of tokens(text.slice(0, 4 * MOST_CHARACTERS))) {
    line += token.kind === "comment" || token.kind === "space" ? " " : text.slice(token.from, token.to);
  }
  return oneLine(line, MOST_CHARACTERS) || oneLine(text, MOST_CHARACTERS);
}

/** One line of SQL with colours, for lists. */
export function SqlLine({ text }: { text: string }) {
  return <code class="sql-line">{colouredLines(oneLineSql(text))[0]?.map(pieceOf)}</code>;
}

const MOST_LINES = 5000;

export function SqlText({ text, error }: { text: string; error: SqlError | null }) {
  const lines = colouredLines(text).slice(0, MOST_LINES);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls by the keyboard
    <div class="sql-text" role="region" aria-label="Statement" tabIndex={0}>
      {lines.map((pieces, index) => {
        const isWrong = error?.line === index + 1;
        return (
          <div key={index} class={isWrong ? "sql-row wrong" : "sql-row"}>
            <span class="sql-number-of-line" aria-hidden="true">
              {index + 1}
            </span>
            <code>
              {isWrong && error.column != null ? markedPieces(pieces, error.column) : pieces.map(pieceOf)}
              {isWrong && <span class="sql-message">{error.message}</span>}
            </code>
          </div>
        );
      })}
    </div>
  );
}

function pieceOf(piece: Piece, index: number): JSX.Element {
  return (
    <span key={index} class={`sql-${piece.kind}`}>
      {piece.text}
    </span>
  );
}

/** Pieces of a line; the one at the 1-based column is marked. */
function markedPieces(pieces: Piece[], column: number): JSX.Element[] {
  let at = 1;
  let isMarked = false;
  const shown = pieces.map((piece, index) => {
    const isHere = !isMarked && column < at + piece.text.length;
    at += piece.text.length;
    if (!isHere) return pieceOf(piece, index);
    isMarked = true;
    return <mark key={index}>{piece.text}</mark>;
  });
  if (!isMarked) shown.push(<mark key="end"> </mark>);
  return shown;
}
