/** Completion in the editor, from the live catalog. */
import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  startCompletion,
} from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { knownNames } from "../../catalog";
import { type Offer, type OfferKind, offersAt } from "../../sql/completion";
import { type PathOffer, type PathPlace, pathAt, pathOffers } from "../../sql/paths";
import { tablesApi } from "../tables/api";

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
  const script = context.state.doc.toString();
  const path = pathAt(script, context.pos);
  if (path) return pathCompletion(path, context);
  const found = await offersAt(script, context.pos, await knownNames());
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

/** Files and folders in a text. Paths that the server does not list have none. */
async function pathCompletion(place: PathPlace, context: CompletionContext): Promise<CompletionResult | null> {
  const page = await tablesApi.folder(place.path).catch(() => null);
  if (!page || context.aborted) return null;
  const options = pathOffers(place, page.entries).map((offer) => ({
    label: offer.label,
    type: offer.isFolder ? "namespace" : "text",
    ...(offer.detail ? { detail: offer.detail } : {}),
    apply: (view: EditorView, _: Completion, from: number, to: number) => insertPath(view, offer, place, from, to),
  }));
  // A listing that is not whole is asked for again with the next letter.
  const isFinal = page.is_whole && context.pos === place.from;
  return options.length ? { from: place.from, options, ...(isFinal ? { validFor: /^[^/'"`\\]*$/u } : {}) } : null;
}

/** Write a name into a text. After a folder, its entries are offered; after a file, the cursor leaves the text. */
function insertPath(view: EditorView, offer: PathOffer, place: PathPlace, from: number, to: number): void {
  const isClosed = view.state.sliceDoc(to, to + 1) === place.quote;
  view.dispatch({
    changes: { from, to, insert: offer.text },
    selection: { anchor: from + offer.text.length + (isClosed && !offer.isFolder ? 1 : 0) },
    userEvent: "input.complete",
    scrollIntoView: true,
  });
  if (offer.isFolder) startCompletion(view);
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
