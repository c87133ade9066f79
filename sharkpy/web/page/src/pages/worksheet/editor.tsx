/**
 * Editor of a worksheet: CodeMirror with HiveQL.
 *
 * CodeMirror adds its styles at run time. In a shadow root it does so by constructed style sheets, which the server's
 * content policy allows; in the document it would need `<style>` elements, which the policy forbids.
 */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  moveCompletionSelection,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, toggleComment } from "@codemirror/commands";
import { SQLDialect } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { KEYWORDS, TYPES } from "../../sql/keywords";
import { statementAt } from "../../sql/tokens";
import { liveCompletion } from "./live_completion";

const HIVEQL = SQLDialect.define({
  keywords: KEYWORDS,
  types: TYPES,
  backslashEscapes: true,
  doubleQuotedStrings: true,
  identifierQuotes: "`",
  specialVar: ":",
});

const COLOURS = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.keyword, color: "var(--sql-keyword)", fontWeight: "600" },
    { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--sql-type)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--sql-string)" },
    { tag: [tags.number, tags.bool, tags.null, tags.special(tags.name)], color: "var(--sql-number)" },
    { tag: tags.comment, color: "var(--sql-comment)", fontStyle: "italic" },
  ]),
);

const THEME = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-3)", border: "none", paddingLeft: "6px" },
  ".cm-lineNumbers .cm-gutterElement": { paddingRight: "12px" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-statement": {
    boxShadow: "inset 2px 0 0 var(--accent)",
    backgroundColor: "color-mix(in srgb, var(--accent) 5%, transparent)",
  },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "light-dark(#bfe6ed, #1c5864)",
  },
  ".cm-selectionMatch": { backgroundColor: "light-dark(#e3f4d7, #2c3d1f)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", color: "inherit" },
  ".cm-placeholder": { color: "var(--text-3)" },
  ".cm-tooltip, .cm-panels": {
    border: "1px solid var(--line)",
    borderRadius: "6px",
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    boxShadow: "var(--shadow-high)",
  },
  ".cm-panels": { borderRadius: "0", boxShadow: "none" },
  ".cm-panels input, .cm-panels button": {
    font: "12px var(--sans)",
    color: "var(--text)",
    background: "var(--surface)",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { minWidth: "260px", maxHeight: "16em", padding: "4px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px", borderRadius: "4px" },
  ".cm-completionIcon": { width: "1.4em", color: "var(--text-3)", opacity: "1" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700", color: "var(--accent)" },
  ".cm-completionDetail": { marginLeft: "1.2em", color: "var(--text-2)", fontStyle: "normal", fontSize: "12px" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 12px", maxWidth: "360px", fontSize: "12px" },
  ".cm-completionInfo code": { fontFamily: "var(--mono)", overflowWrap: "anywhere" },
  ".cm-completionInfo p": { margin: "4px 0 0", color: "var(--text-2)", fontFamily: "var(--sans)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--sans)" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
});

const LINE_OF_STATEMENT = Decoration.line({ class: "cm-statement" });

/** Mark the lines of the statement that would run. */
const STATEMENT_MARK = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = statementLines(view.state);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.selectionSet) this.decorations = statementLines(update.state);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function statementLines(state: EditorState): DecorationSet {
  const { head, empty } = state.selection.main;
  const statement = empty ? statementAt(state.doc.toString(), head) : undefined;
  if (!statement) return Decoration.none;
  const first = state.doc.lineAt(statement.from).number;
  const last = state.doc.lineAt(Math.min(statement.to, state.doc.length)).number;
  const lines = Array.from({ length: last - first + 1 }, (_, index) => state.doc.line(first + index));
  return Decoration.set(lines.map((line) => LINE_OF_STATEMENT.range(line.from)));
}

export interface EditorActions {
  onChange: (text: string) => void;
  onRun: () => void;
  onRunAll: () => void;
}

function extensions(actions: { current: EditorActions }): Extension {
  const run = (name: "onRun" | "onRunAll") => () => {
    actions.current[name]();
    return true;
  };
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ override: [liveCompletion], defaultKeymap: false }),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search({ top: true }),
    HIVEQL.language.data.of({ commentTokens: { line: "--", block: { open: "/*", close: "*/" } } }),
    HIVEQL.language,
    COLOURS,
    THEME,
    STATEMENT_MARK,
    placeholder("SELECT …"),
    Prec.highest(
      keymap.of([
        ...COMPLETION_KEYS,
        { key: "Mod-Enter", run: run("onRun") },
        { key: "Shift-Mod-Enter", run: run("onRunAll") },
        { key: "Mod-/", run: toggleComment },
      ]),
    ),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap]),
    EditorView.contentAttributes.of({ "aria-label": "Statements", tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) actions.current.onChange(update.state.doc.toString());
    }),
  ];
}

/** Enter ends a line, so Tab takes what completion offers. */
const COMPLETION_KEYS = [
  { key: "Ctrl-Space", run: startCompletion },
  { key: "Tab", run: acceptCompletion },
  { key: "Escape", run: closeCompletion },
  { key: "ArrowDown", run: moveCompletionSelection(true) },
  { key: "ArrowUp", run: moveCompletionSelection(false) },
];

/** Parts of the editor that the page uses. */
export interface EditorHandle {
  view: EditorView;
  mark: (marks: Diagnostic[]) => void;
}

export function Editor(props: {
  id: string;
  text: string;
  actions: EditorActions;
  onReady: (editor: EditorHandle) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const actions = useRef(props.actions);
  actions.current = props.actions;
  const { id, text, onReady } = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a worksheet has one editor, which holds its text
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const view = new EditorView({
      state: EditorState.create({ doc: text, extensions: extensions(actions) }),
      parent: root,
      root,
    });
    onReady({ view, mark: (marks) => view.dispatch(setDiagnostics(view.state, marks)) });
    view.focus();
    return () => view.destroy();
  }, [id]);
  return <div ref={host} class="editor" />;
}
