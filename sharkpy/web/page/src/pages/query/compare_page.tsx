/** Two runs of the same text, side by side. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, type Operator, type Query, type QueryWithProfile } from "../../api";
import { ago, bytes, count, counted, fullTime, seconds, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty, Failure, State, useNow, useTitle } from "../../parts/parts";
import { SqlText } from "../../parts/sql_text";
import {
  type Figure,
  figuresOf,
  isSameText,
  LEAST_SECONDS,
  operatorPairs,
  ratioOf,
  stagePairs,
  worstPlaces,
} from "./comparison";
import { detailOf, withoutNumbers } from "./plan_layout";
import "../../styles/query.css";
import "../../styles/compare.css";

const FORMATS = { seconds, count, bytes };
const MOST_FILTER = 900;

function useQueries(ids: string[]) {
  const [queries, setQueries] = useState<QueryWithProfile[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const key = JSON.stringify(ids);
  useEffect(() => {
    const stop = new AbortController();
    setQueries(null);
    setError(null);
    Promise.all((JSON.parse(key) as string[]).map((id) => api.query(id, stop.signal))).then(setQueries, (failure) => {
      if (!stop.signal.aborted) setError(failure as Error);
    });
    return () => stop.abort();
  }, [key]);
  return { queries, error };
}

export function ComparePage({ id, other }: { id: string; other: string | null }) {
  useTitle("Compare runs");
  const { queries, error } = useQueries(other === null ? [id] : [id, other]);
  const [first, second] = queries ?? [];
  return (
    <div class="page">
      <div class="page-head">
        <a class="button quiet small icon" href={`#/queries/${encodeURIComponent(id)}`} aria-label="Back to the query">
          <Icon name="left" size={14} />
        </a>
        <h1>Compare runs</h1>
        {other !== null && (
          <div class="right">
            <a class="button" href={linkOf(other, id)}>
              Swap the runs
            </a>
            <a class="button" href={`#/queries/${encodeURIComponent(id)}/compare`}>
              Choose another run
            </a>
          </div>
        )}
      </div>
      {error && <Failure error={error} />}
      {first && <SqlText text={first.text} error={null} />}
      {first && other === null && <OtherRuns query={first} />}
      {first && second && other !== null && <Comparison first={first} second={second} />}
    </div>
  );
}

function linkOf(first: string, second: string): string {
  return `#/queries/${encodeURIComponent(first)}/compare/${encodeURIComponent(second)}`;
}

function OtherRuns({ query }: { query: Query }) {
  const [runs, setRuns] = useState<Query[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const now = useNow(10_000);
  const { query_id: id, text } = query;
  useEffect(() => {
    const stop = new AbortController();
    api.queries(new URLSearchParams({ text: text.slice(0, MOST_FILTER), limit: "200" }), stop.signal).then(
      (page) => setRuns(page.queries.filter((one) => one.query_id !== id && isSameText(one.text, text))),
      (failure) => {
        if (!stop.signal.aborted) setError(failure as Error);
      },
    );
    return () => stop.abort();
  }, [id, text]);
  if (error) return <Failure error={error} />;
  if (!runs) return null;
  if (!runs.length) {
    return (
      <Empty icon="clock" title="This text has run only once">
        <p>Run it again from the worksheet, for example with another setting, and compare the runs here.</p>
      </Empty>
    );
  }
  return (
    <section class="card runs" aria-label="Other runs of this text">
      <h2>Compare with a run of the same text</h2>
      <ul>
        {runs.map((run) => (
          <li key={run.query_id}>
            <a href={linkOf(id, run.query_id)}>
              <State state={run.state} />
              <span title={fullTime(run.started)}>{ago(run.started, now)}</span>
              <span class="muted">{run.user || "anonymous"}</span>
              <code class="muted">{run.query_id}</code>
              <b>{seconds(run.seconds)}</b>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Comparison({ first, second }: { first: QueryWithProfile; second: QueryWithProfile }) {
  const stages = stagePairs(first.profile, second.profile);
  const operators = operatorPairs(first.profile, second.profile);
  const [badStages, badOperators] = [worstPlaces(stages), worstPlaces(operators)];
  return (
    <>
      {!isSameText(second.text, first.text) && (
        <div class="notice warn" role="note">
          The runs have different texts.
        </div>
      )}
      <Table label="Figures">
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <RunHead query={first} name="First run" />
            <RunHead query={second} name="Second run" />
            <th scope="col">Ratio</th>
          </tr>
        </thead>
        <tbody>
          {figuresOf(first, second).map((figure) => (
            <FigureRow key={figure.name} figure={figure} />
          ))}
        </tbody>
      </Table>
      {stages.length > 0 && (
        <Table label="Stages">
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col">First run</th>
              <th scope="col">Second run</th>
              <th scope="col">Ratio</th>
            </tr>
          </thead>
          <tbody>
            {stages.map(({ place, first: one, second: two }) => (
              <tr key={place} class={badStages.has(place) ? "worse" : undefined}>
                <th scope="row">
                  <strong>{place}</strong> {withoutNumbers((one ?? two)?.label ?? "")}
                </th>
                <Cell main={one && seconds(one.seconds)} more={one && `${shortCount(one.rows_out)} rows`} />
                <Cell main={two && seconds(two.seconds)} more={two && `${shortCount(two.rows_out)} rows`} />
                <Ratio values={[one?.seconds ?? null, two?.seconds ?? null]} isCost />
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {operators.length > 0 && (
        <Table label="Operators">
          <thead>
            <tr>
              <th scope="col">Operator, by its place in the plan</th>
              <th scope="col">First run</th>
              <th scope="col">Second run</th>
              <th scope="col">Ratio</th>
            </tr>
          </thead>
          <tbody>
            {operators.map(({ place, depth, first: one, second: two }) => {
              const shown = one ?? two;
              return (
                <tr
                  key={`${place} ${one ? "first" : "second"}`}
                  class={badOperators.has(place) ? "worse" : one && two ? undefined : "single"}
                >
                  <th scope="row">
                    <span class="operator" style={{ paddingLeft: `${Math.min(depth, 16) * 14}px` }}>
                      <strong>{shown?.kind}</strong> <span class="mono">{shown && detailOf(shown)}</span>
                    </span>
                  </th>
                  <OperatorCell operator={one} />
                  <OperatorCell operator={two} />
                  <Ratio values={[one?.seconds ?? null, two?.seconds ?? null]} isCost />
                </tr>
              );
            })}
          </tbody>
        </Table>
      )}
    </>
  );
}

/** The figures of an operator that are known, the time first. */
function operatorFigures(operator: Operator): string[] {
  const known: string[] = [];
  if (operator.seconds != null) known.push(seconds(operator.seconds));
  if (operator.rows != null) known.push(`${shortCount(operator.rows)} rows`);
  else if (operator.blocks_read != null) known.push(`${counted(operator.blocks_read, "block")} read`);
  return known;
}

function OperatorCell({ operator }: { operator: Operator | null }) {
  if (!operator) return <Cell main={null} />;
  const [main = null, more = null] = operatorFigures(operator);
  return <Cell main={main} otherwise="not measured" more={more} />;
}

/** A table that scrolls by the keyboard, too, if the window is narrow. */
function Table({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls by the keyboard
    <section class="card compare" aria-label={label} tabIndex={0}>
      <table>{children}</table>
    </section>
  );
}

function RunHead({ query, name }: { query: Query; name: string }) {
  return (
    <th scope="col">
      <a href={`#/queries/${encodeURIComponent(query.query_id)}`}>{name}</a>
      <small>{fullTime(query.started)}</small>
    </th>
  );
}

function FigureRow({ figure }: { figure: Figure }) {
  const format = FORMATS[figure.unit];
  return (
    <tr>
      <th scope="row">{figure.name}</th>
      <Cell main={format(figure.values[0])} />
      <Cell main={format(figure.values[1])} />
      <Ratio values={figure.values} isCost={figure.isCost} least={figure.unit === "seconds" ? LEAST_SECONDS : 0} />
    </tr>
  );
}

function Cell(props: { main: string | null; otherwise?: string; more?: string | null }) {
  const { main, otherwise = "not in this plan", more } = props;
  return (
    <td>
      {main ?? <span class="muted">{otherwise}</span>}
      {more && <small>{more}</small>}
    </td>
  );
}

/** `least`: a smaller difference of the values is neither better nor worse. */
function Ratio(props: { values: readonly [number | null, number | null]; isCost: boolean; least?: number }) {
  const { values, least = LEAST_SECONDS } = props;
  const isCost = props.isCost && Math.abs((values[1] ?? 0) - (values[0] ?? 0)) >= least;
  const ratio = ratioOf(values);
  if (ratio === null) return <td class="ratio muted">—</td>;
  const meaning = !isCost ? "" : ratio >= 1.2 ? "worse" : ratio <= 1 / 1.2 ? "better" : "";
  const text = ratio >= 100 ? count(ratio) : ratio.toFixed(ratio >= 10 ? 1 : 2);
  return <td class={`ratio ${meaning}`}>{text}×</td>;
}
