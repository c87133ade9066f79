/** Values of one column: how often the most frequent ones occur, and how the others are spread. */
import { count, counted, percent } from "../../format";
import { Failure } from "../../parts/parts";
import type { ColumnFigures, TableColumn, TableName } from "./api";
import { useAnswer } from "./ask";
import {
  boundText,
  type Histogram,
  histogramOf,
  histogramStatement,
  SAMPLED_ROWS,
  type TopValue,
  topStatement,
  topValues,
} from "./column_values";
import { runOnce } from "./run_once";

interface Found {
  top: TopValue[];
  histogram: Histogram | null;
}

async function valuesOf(table: TableName, column: TableColumn, signal: AbortSignal): Promise<Found> {
  const histogram = histogramStatement(table, column);
  const [top, spread] = await Promise.all([
    runOnce(topStatement(table, column.name), signal),
    histogram ? runOnce(histogram, signal) : null,
  ]);
  return { top: topValues(top), histogram: spread && histogramOf(spread) };
}

export function ColumnValues(props: { table: TableName; column: TableColumn; figures: ColumnFigures | null }) {
  const { table, column, figures } = props;
  const { answer, error, again } = useAnswer(column.name, (signal) => valuesOf(table, column, signal));
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <p class="muted values-note">Reading up to {count(SAMPLED_ROWS)} rows…</p>;
  const most = Math.max(1, ...answer.top.map((one) => one.rows));
  const isSample = figures?.num_rows == null || figures.num_rows > SAMPLED_ROWS;
  return (
    <div class="column-values">
      {answer.histogram && <Bars histogram={answer.histogram} type={column.type} />}
      <figure class="top-values">
        <figcaption>Most frequent values</figcaption>
        {answer.top.length === 0 && <p class="muted">The table has no rows.</p>}
        {answer.top.length > 1 && most === 1 && <p class="muted">Each value occurs once.</p>}
        <ol>
          {answer.top.map((one) => (
            <li key={one.value ?? "\0"}>
              {one.value === null ? <i class="null">NULL</i> : <code title={one.value}>{one.value || " "}</code>}
              <span class="bar">
                <i style={{ width: `${(100 * one.rows) / most}%` }} />
              </span>
              <span class="number">{count(one.rows)}</span>
            </li>
          ))}
        </ol>
      </figure>
      <p class="muted values-note">
        {isSample ? `Of the first ${count(SAMPLED_ROWS)} rows.` : `Of all ${counted(figures.num_rows ?? 0, "row")}.`}
        {figures?.source === "analyze" && " Statistics are from ANALYZE TABLE."}
        {figures?.source === "blocks" && " Statistics are from the blocks in memory."}
      </p>
    </div>
  );
}

const HEIGHT = 92;

function Bars({ histogram, type }: { histogram: Histogram; type: string }) {
  const { rows, low, high } = histogram;
  const most = Math.max(1, ...rows);
  const all = rows.reduce((sum, one) => sum + one, 0);
  const width = (high - low) / rows.length;
  return (
    <figure class="spread">
      <figcaption>Spread</figcaption>
      <svg
        viewBox={`0 0 ${rows.length * 10} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Histogram from ${boundText(low, type)} to ${boundText(high, type)}`}
      >
        {rows.map((one, index) => {
          const height = one ? Math.max(1.5, (one / most) * HEIGHT) : 0;
          const [from, to] = [low + index * width, low + (index + 1) * width];
          return (
            <rect key={from} x={index * 10 + 0.75} y={HEIGHT - height} width={8.5} height={height}>
              <title>{`${boundText(from, type)} to ${boundText(to, type)}: ${counted(one, "row")}, ${percent(one, all)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div class="axis muted">
        <span>{boundText(low, type)}</span>
        <span>{boundText(high, type)}</span>
      </div>
    </figure>
  );
}
