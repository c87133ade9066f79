/** Statements of equal shape, with the time that they have taken together. */
import { useEffect, useState } from "preact/hooks";
import { api, type Shape } from "../../api";
import { count, percent, seconds } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty, Failure } from "../../parts/parts";
import { SqlLine } from "../../parts/sql_text";
import { go } from "../../router";

type Key = "total_seconds" | "count" | "p50_seconds" | "p99_seconds";
const COLUMNS: readonly { key: Key; title: string; tip: string }[] = [
  { key: "total_seconds", title: "Total time", tip: "Seconds of all runs together" },
  { key: "count", title: "Runs", tip: "Number of runs" },
  { key: "p50_seconds", title: "Median", tip: "Half of the runs take at most this long" },
  { key: "p99_seconds", title: "99 %", tip: "99 of 100 runs take at most this long" },
];

export function ExpensiveShapes() {
  const [shapes, setShapes] = useState<Shape[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [sort, setSort] = useState<Key>("total_seconds");
  useEffect(() => {
    const stop = new AbortController();
    api.shapes(stop.signal).then(setShapes, (failure: Error) => {
      if (!stop.signal.aborted) setError(failure);
    });
    return () => stop.abort();
  }, []);
  if (error) return <Failure error={error} />;
  if (!shapes) return null;
  if (!shapes.length) {
    return (
      <Empty icon="chart" title="No queries have ended yet">
        <p>Ended queries are grouped here by their text without literals, so that you see which kind costs most.</p>
        <a class="button primary" href="#/worksheet">
          Open the worksheet
        </a>
      </Empty>
    );
  }
  const total = shapes.reduce((sum, shape) => sum + shape.total_seconds, 0);
  const sorted = shapes.toSorted((a, b) => b[sort] - a[sort]);
  return (
    <div class="card table-frame">
      <table class="table shapes">
        <thead>
          <tr>
            <th scope="col">Shape</th>
            <th scope="col">Share of time</th>
            {COLUMNS.map((column) => (
              <th
                key={column.key}
                scope="col"
                class="number"
                title={column.tip}
                aria-sort={sort === column.key ? "descending" : undefined}
              >
                <button type="button" class="sort" onClick={() => setSort(column.key)}>
                  {column.title}
                  {sort === column.key && <Icon name="down" size={11} />}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((shape) => {
            const href = `/queries/${encodeURIComponent(shape.example_id)}`;
            return (
              <tr
                key={shape.shape}
                onClick={(event) => {
                  if (!(event.target as HTMLElement).closest("a")) go(href);
                }}
              >
                <td class="of-text">
                  <a href={`#${href}`} title={shape.shape.slice(0, 2000)}>
                    <SqlLine text={shape.shape} />
                  </a>
                </td>
                <td class="of-share">
                  <meter min={0} max={1} value={total ? shape.total_seconds / total : 0} aria-label="Share of time" />
                  <span>{percent(shape.total_seconds, total)}</span>
                </td>
                {COLUMNS.map((column) => (
                  <td key={column.key} class="number" data-title={column.title}>
                    {column.key === "count" ? count(shape.count) : seconds(shape[column.key])}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
