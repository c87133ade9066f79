/** Worksheet: statements, their parameters, and the results in tabs. */
import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { confirm } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { Empty, useTitle } from "../../parts/parts";
import { parameterNames, type Statement, splitStatements, statementAt } from "../../sql/tokens";
import { load, store } from "../../storage";
import {
  addWorksheet,
  changeWorksheet,
  currentId,
  currentWorksheet,
  isStored,
  removeWorksheet,
  worksheets,
} from "../../worksheets";
import { Editor, type EditorHandle } from "./editor";
import { ResultPane } from "./result_pane";
import { RunHistory } from "./run_history";
import {
  errorPlace,
  MOST_ROWS,
  newResult,
  type Parameters,
  parameterValue,
  type Result,
  runStatement,
} from "./run_statement";
import "../../styles/worksheet.css";
import "../../styles/run_history.css";

const results = signal<Result[]>([]);
const chosenResult = signal<number | null>(null);
const typedParameters = signal<Record<string, string>>(load("parameters", {}));
const MOST_RESULTS = 12;

/** Show new results instead of the ended ones of their worksheet. */
function addResults(added: Result[]): void {
  const others = results.value.filter((result) => result.worksheet !== added[0]?.worksheet);
  const own = results.value.filter((result) => result.worksheet === added[0]?.worksheet && isBusy(result));
  results.value = [...others, ...own, ...added].slice(-MOST_RESULTS);
  chosenResult.value = added[0]?.id ?? null;
}

function isBusy(result: Result): boolean {
  return result.state.value === "running" || result.state.value === "waiting";
}

/** Run statements one after another. An error ends the row: the statements after it do not run. */
async function runAll(
  worksheet: string,
  statements: Statement[],
  mostRows: number,
  onError: (result: Result) => void,
): Promise<void> {
  const added = statements.map((statement) => newResult(worksheet, statement, parametersOf(statement), mostRows));
  addResults(added);
  for (const [index, result] of added.entries()) {
    if (result.stop.signal.aborted) result.state.value = "cancelled";
    else await runStatement(result);
    if (result.state.value === "finished") continue;
    if (result.answer.error) onError(result);
    if (index > 0 || added.length > 1) chosenResult.value = result.id;
    for (const after of added.slice(index + 1)) after.state.value = "cancelled";
    return;
  }
}

function parametersOf(statement: Statement): Parameters {
  return Object.fromEntries(
    parameterNames(statement.text).map((name) => [name, parameterValue(typedParameters.value[name] ?? "")]),
  );
}

/** The selected statements, or the one at the cursor. */
function chosenStatements(editor: EditorHandle): Statement[] {
  const { state } = editor.view;
  const { from, to, empty, head } = state.selection.main;
  if (empty) {
    const statement = statementAt(state.doc.toString(), head);
    return statement ? [statement] : [];
  }
  return splitStatements(state.sliceDoc(from, to)).map((one) => ({ ...one, from: one.from + from, to: one.to + from }));
}

function markError(editor: EditorHandle | null, result: Result): void {
  const { error } = result.answer;
  const place = error && errorPlace(result.statement, error);
  if (!editor || !place) return;
  const { doc } = editor.view.state;
  const isSame =
    doc.sliceString(result.statement.from, result.statement.to).replaceAll("\\;", ";") === result.statement.text;
  if (!isSame) return;
  editor.mark([
    { ...place, severity: "error", message: error.hint ? `${error.message}. ${error.hint}` : error.message },
  ]);
}

export function WorksheetPage() {
  useTitle("Worksheet");
  const sheet = currentWorksheet();
  const editor = useRef<EditorHandle | null>(null);
  const [mostRows, setMostRows] = useState(MOST_ROWS);
  const [isHistoryOpen, setHistoryOpen] = useState(false);
  const names = parameterNames(sheet.text);
  const own = results.value.filter((result) => result.worksheet === sheet.id);
  const busy = own.filter(isBusy);
  const run = (statements: Statement[]) => {
    if (!editor.current || !statements.length) return;
    editor.current.mark([]);
    runAll(sheet.id, statements, mostRows, (result) => markError(editor.current, result));
  };
  const actions = {
    onChange: (text: string) => changeWorksheet(sheet.id, { text }),
    onRun: () => run(editor.current ? chosenStatements(editor.current) : []),
    onRunAll: () => run(splitStatements(editor.current?.view.state.doc.toString() ?? "")),
  };
  return (
    <div class="worksheet">
      <h1 class="visually-hidden">Worksheet</h1>
      <SheetTabs />
      {!isStored.value && (
        <p class="notice" role="alert">
          The browser's storage is full: changes of worksheets are lost when this page closes.
        </p>
      )}
      <div class="card editor-card">
        <div class="editor-bar">
          <button type="button" class="button primary" title="Ctrl+Enter" onClick={actions.onRun}>
            <Icon name="play" size={13} /> Run
          </button>
          <button type="button" class="button" title="Shift+Ctrl+Enter" onClick={actions.onRunAll}>
            Run all
          </button>
          {busy.length > 0 && (
            <button
              type="button"
              class="button danger"
              onClick={() => {
                for (const result of busy) result.stop.abort();
              }}
            >
              <Icon name="stop" size={13} /> Stop
            </button>
          )}
          <span class="muted keys">
            <kbd>Ctrl Enter</kbd> runs the marked statement
          </span>
          <button type="button" class="button quiet history" onClick={() => setHistoryOpen(true)}>
            <Icon name="clock" size={14} /> History
          </button>
          <select
            class="select rows"
            aria-label="Most rows"
            value={String(mostRows)}
            onChange={(event) => setMostRows(Number(event.currentTarget.value))}
          >
            <option value="1000">Up to 1,000 rows</option>
            <option value="100000">Up to 100,000 rows</option>
            <option value="1000000">Up to 1,000,000 rows</option>
          </select>
        </div>
        {names.length > 0 && <ParameterBar names={names} />}
        <Editor
          id={sheet.id}
          text={sheet.text}
          actions={actions}
          onReady={(handle) => {
            editor.current = handle;
          }}
        />
      </div>
      <Results results={own} />
      {isHistoryOpen && <RunHistory onClose={() => setHistoryOpen(false)} />}
    </div>
  );
}

function SheetTabs() {
  const [renamed, setRenamed] = useState<string | null>(null);
  const current = currentWorksheet();
  const finish = (id: string, name: string) => {
    if (name.trim()) changeWorksheet(id, { name: name.trim().slice(0, 60) });
    setRenamed(null);
  };
  return (
    <div class="sheets">
      {worksheets.value.map((sheet) =>
        sheet.id === renamed ? (
          <input
            key={sheet.id}
            class="input"
            aria-label="Name of the worksheet"
            // biome-ignore lint/a11y/noAutofocus: the user asked to type a name
            autoFocus
            value={sheet.name}
            onBlur={(event) => finish(sheet.id, event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") finish(sheet.id, event.currentTarget.value);
              else if (event.key === "Escape") setRenamed(null);
            }}
          />
        ) : (
          <span key={sheet.id} class={sheet.id === current.id ? "sheet current" : "sheet"}>
            <button
              type="button"
              aria-current={sheet.id === current.id ? "true" : undefined}
              title="Double-click to rename"
              onClick={() => {
                currentId.value = sheet.id;
              }}
              onDblClick={() => setRenamed(sheet.id)}
              onKeyDown={(event) => {
                if (event.key === "F2") setRenamed(sheet.id);
              }}
            >
              {sheet.name}
            </button>
            {worksheets.value.length > 1 && sheet.id === current.id && (
              <button
                type="button"
                class="close"
                aria-label={`Delete ${sheet.name}`}
                onClick={() => askToRemove(sheet.id, sheet.name, sheet.text)}
              >
                <Icon name="cross" size={11} />
              </button>
            )}
          </span>
        ),
      )}
      <button
        type="button"
        class="button quiet small icon"
        aria-label="New worksheet"
        title="New worksheet"
        onClick={() => addWorksheet("")}
      >
        <Icon name="plus" size={14} />
      </button>
    </div>
  );
}

function askToRemove(id: string, name: string, text: string): void {
  if (!text.trim()) {
    removeWorksheet(id);
    return;
  }
  confirm({
    title: `Delete ${name}?`,
    text: "Its statements are stored only in this browser.",
    action: "Delete the worksheet",
    keep: "Keep it",
    run: () => removeWorksheet(id),
  });
}

function ParameterBar({ names }: { names: string[] }) {
  return (
    <div class="parameters">
      {names.map((name) => (
        <label key={name}>
          <code>:{name}</code>
          <input
            class="input"
            placeholder="NULL"
            title="A number, true, false, or text. Quotes make text of a number. Nothing is NULL."
            spellcheck={false}
            value={typedParameters.value[name] ?? ""}
            onInput={(event) => {
              typedParameters.value = { ...typedParameters.value, [name]: event.currentTarget.value };
              store("parameters", typedParameters.value);
            }}
          />
        </label>
      ))}
    </div>
  );
}

function Results({ results: own }: { results: Result[] }) {
  if (!own.length) {
    return (
      <div class="card results">
        <Empty icon="grid" title="Results appear here">
          <p>
            Write a statement, then press <kbd>Ctrl Enter</kbd>. The rows can be sorted, copied, drawn as a chart and
            downloaded.
          </p>
        </Empty>
      </div>
    );
  }
  const shown = own.find((result) => result.id === chosenResult.value) ?? own[0];
  return (
    <div class="card results">
      {own.length > 1 && (
        <div class="result-tabs" role="tablist" aria-label="Results">
          {own.map((result, index) => (
            <button
              key={result.id}
              type="button"
              role="tab"
              aria-selected={result === shown}
              title={result.statement.text.slice(0, 400)}
              onClick={() => {
                chosenResult.value = result.id;
              }}
            >
              <i class={`dot ${result.state.value}`} /> {index + 1}
            </button>
          ))}
        </div>
      )}
      {shown && <ResultPane key={shown.id} result={shown} />}
    </div>
  );
}
