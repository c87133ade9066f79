/** Runs of statements in this browser, which can be opened again. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { ago, counted, fullTime, seconds } from "../../format";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { Empty, State } from "../../parts/parts";
import { SqlLine } from "../../parts/sql_text";
import { load, store } from "../../storage";
import { openInWorksheet } from "../../worksheets";

/** A run that has ended. `at` is its start in milliseconds since 1970; `rows` were returned or written. */
export interface Run {
  text: string;
  at: number;
  seconds: number;
  rows: number | null;
  state: "finished" | "failed" | "cancelled";
  queryId: string | null;
}

const MOST_RUNS = 200;
/** Characters of all texts: the browser stores a few million in all. */
const MOST_CHARACTERS = 400_000;

function isRun(value: unknown): value is Run {
  const one = value as Partial<Run> | null;
  return typeof one?.text === "string" && typeof one.at === "number" && typeof one.seconds === "number";
}

function stored(): Run[] {
  const found = load<unknown>("runs", []);
  return Array.isArray(found) ? found.filter(isRun) : [];
}

export const runs = signal<readonly Run[]>(stored());

/** The newest runs, within the bounds of the storage. */
export function bounded(all: readonly Run[]): Run[] {
  let left = MOST_CHARACTERS;
  return all.slice(0, MOST_RUNS).filter((run) => {
    left -= run.text.length;
    return left >= 0;
  });
}

export function addRun(run: Run): void {
  // Another window may have added runs.
  runs.value = bounded([run, ...stored()]);
  store("runs", runs.value);
}

export function RunHistory({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState("");
  const wanted = words.trim().toLowerCase();
  const shown = runs.value.filter((run) => run.text.toLowerCase().includes(wanted));
  const now = Date.now();
  return (
    <Dialog label="History of this browser" class="run-history" onClose={onClose}>
      <header>
        <h2>History</h2>
        <input
          class="input"
          type="search"
          placeholder="Words of the statement"
          aria-label="Words of the statement"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <button type="button" class="button quiet small icon" aria-label="Close the history" onClick={onClose}>
          <Icon name="cross" size={13} />
        </button>
      </header>
      {shown.length ? (
        <ul>
          {shown.map((run, index) => (
            <li key={`${run.at} ${index}`}>
              <button
                type="button"
                title={run.text.slice(0, 2000)}
                onClick={() => {
                  openInWorksheet(run.text);
                  onClose();
                }}
              >
                <SqlLine text={run.text} />
                <span class="facts">
                  <State state={run.state} />
                  <span>{seconds(run.seconds)}</span>
                  {run.rows !== null && <span>{counted(run.rows, "row")}</span>}
                  <span class="when" title={fullTime(new Date(run.at).toISOString())}>
                    {ago(new Date(run.at).toISOString(), now)}
                  </span>
                </span>
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <Empty icon="clock" title={wanted ? "No run has these words" : "Nothing has run yet"}>
          <p>{wanted ? "Try other words." : "Statements that you run in this browser appear here."}</p>
        </Empty>
      )}
    </Dialog>
  );
}
