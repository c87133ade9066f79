/** Completion in the editor, from the live catalog. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { knownNames } from "../../catalog";
import { type Offer, type OfferKind, offersAt } from "../../sql/completion";

/** CodeMirror's names of the icons. */
const ICONS: Record<OfferKind, string> = {
  database: "namespace",
  table: "class",
  alias: "variable",
  column: "property",
  function: "function",
  keyword: "keyword",
  type: "type",
};

export async function liveCompletion(context: CompletionContext): Promise<CompletionResult | null> {
  const found = await offersAt(context.state.doc.toString(), context.pos, await knownNames());
  if (!found || context.aborted) return null;
  const { scope, offers } = found;
  const hasPart = scope.from < context.pos || scope.qualifier.length > 0 || scope.isQuoted;
  const isWanted = hasPart || scope.expects === "relation" || scope.expects === "database";
  if (!context.explicit && !isWanted) return null;
  return {
    from: scope.from,
    options: offers.map((offer, place) => completionOf(offer, place, scope.isQuoted)),
    validFor: /^[\p{L}\p{N}_$]*$/u,
  };
}

function completionOf(offer: Offer, place: number, isQuoted: boolean): Completion {
  return {
    label: offer.label,
    // Columns stay in the table's order.
    sortText: offer.kind === "column" ? String(place).padStart(6, "0") : offer.label,
    type: ICONS[offer.kind],
    boost: offer.rank,
    ...(offer.detail ? { detail: offer.detail } : {}),
    ...(offer.info ? { info: () => infoOf(offer.info) } : {}),
    apply: (view, _, from, to) => insert(view, offer, from, to, isQuoted),
  };
}

/** Put a name into the text. The quotes around it are replaced, and a call gets its brackets. */
function insert(view: EditorView, offer: Offer, from: number, to: number, isQuoted: boolean): void {
  const after = view.state.sliceDoc(to, to + 1);
  const start = isQuoted ? from - 1 : from;
  const end = isQuoted && after === "`" ? to + 1 : to;
  const isCall = offer.kind === "function";
  const hasBracket = view.state.sliceDoc(end, end + 1) === "(";
  const text = isCall ? `${offer.text}${hasBracket ? "" : ")"}` : offer.text;
  const insertion = isCall && hasBracket ? text.slice(0, -1) : text;
  view.dispatch({
    changes: { from: start, to: end, insert: insertion },
    selection: { anchor: start + (isCall ? offer.text.length : insertion.length) },
    userEvent: "input.complete",
    scrollIntoView: true,
  });
}

/** Lines of text: the first is a signature or a name. */
function infoOf(text: string): Node {
  const shown = document.createElement("div");
  for (const [index, line] of text.split("\n").entries()) {
    const part = document.createElement(index === 0 ? "code" : "p");
    part.textContent = line;
    shown.append(part);
  }
  return shown;
}
