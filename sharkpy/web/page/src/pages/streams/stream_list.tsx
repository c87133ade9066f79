/** Continuous queries in a table: those with errors first. */
import { count, seconds, shortCount } from "../../format";
import type { NodeState, StreamNode } from "./api";
import { NodeStateText } from "./node_state";
import { addressOfStream, isBehind, kindText } from "./words";

const ORDER: readonly NodeState[] = ["stopped", "retrying", "waiting", "running", "paused", "finished"];

export function StreamList({ nodes }: { nodes: readonly StreamNode[] }) {
  const order = (node: StreamNode) => (node.state ? ORDER.indexOf(node.state) : ORDER.length);
  const shown = nodes.filter((node) => node.kind !== "table").toSorted((a, b) => order(a) - order(b));
  return (
    <div class="card table-frame">
      <table class="table streams">
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th class="number">Rows/s</th>
            <th class="number">Lag</th>
            <th class="number">Epoch</th>
            <th class="number">Epoch time</th>
            <th class="number">Rows</th>
            <th class="number">Bad rows</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((node) => (
            <tr
              key={node.name}
              onClick={(event) => {
                if (!(event.target as Element).closest("a")) location.hash = addressOfStream(node.name);
              }}
            >
              <td class="of-text">
                <a href={addressOfStream(node.name)}>{node.name}</a>
                <span class="muted kind-line">
                  {kindText(node)}
                  {node.place && ` · ${node.place}`}
                </span>
                {node.error && <p class="failed-with">{node.error}</p>}
              </td>
              <td>
                <NodeStateText node={node} />
              </td>
              <td class="number" data-title="Rows/s">
                {shortCount(node.rows_per_second)}
              </td>
              <td class={isBehind(node.state, node.lag) ? "number lags" : "number"} data-title="Lag">
                {count(node.lag)}
              </td>
              <td class="number" data-title="Epoch">
                {count(node.epoch)}
              </td>
              <td class="number" data-title="Epoch time">
                {seconds(node.epoch_seconds)}
              </td>
              <td class="number" data-title="Rows">
                {shortCount(node.rows)}
              </td>
              <td class={node.bad_rows ? "number bad" : "number"} data-title="Bad rows">
                {count(node.bad_rows)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
