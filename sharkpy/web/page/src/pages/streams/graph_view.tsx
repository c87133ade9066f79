/** Streams, queries and tables as boxes, with the ways of rows between them. */
import { useMemo } from "preact/hooks";
import { count, counted, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import type { StreamEdge, StreamNode, Streams } from "./api";
import { BOX_HEIGHT, BOX_WIDTH, type Box, drawGraph } from "./graph_layout";
import { NodeStateText } from "./node_state";
import { addressOfStream, isBehind, KINDS, kindText } from "./words";

const EDGE_WORDS: Partial<Record<StreamEdge["kind"], string>> = {
  bad_rows: "bad rows",
  late_rows: "late rows",
  follows: "follows",
};

function edgeText(edge: StreamEdge): string {
  if (edge.lag) return `${shortCount(edge.lag)} waiting`;
  if (edge.rows_per_second) return `${shortCount(edge.rows_per_second)} rows/s`;
  return EDGE_WORDS[edge.kind] ?? "";
}

export function GraphView({ streams }: { streams: Streams }) {
  const drawing = useMemo(() => drawGraph(streams.nodes, streams.edges), [streams]);
  const states = new Map(streams.nodes.map((node) => [node.name, node.state]));
  const lags = (edge: StreamEdge) => (isBehind(states.get(edge.target) ?? null, edge.lag) ? "lags" : "");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide graph scrolls by the keyboard
    <section class="card stream-graph" aria-label="Graph of streams" tabIndex={0}>
      <div class="stream-canvas" style={{ width: `${drawing.width}px`, height: `${drawing.height}px` }}>
        <svg width={drawing.width} height={drawing.height} aria-hidden="true">
          {drawing.curves.map((curve) => (
            <path
              key={`${curve.edge.kind} ${curve.edge.source} ${curve.edge.target}`}
              class={`stream-edge ${curve.edge.kind} ${lags(curve.edge)}`}
              d={curve.path}
            />
          ))}
        </svg>
        {drawing.curves.map((curve) => {
          const text = edgeText(curve.edge);
          return text ? (
            <span
              key={`${curve.edge.kind} ${curve.edge.source} ${curve.edge.target}`}
              class={`edge-text ${lags(curve.edge)}`}
              style={{ left: `${curve.x}px`, top: `${curve.y}px` }}
            >
              {text}
            </span>
          ) : null;
        })}
        {drawing.boxes.map((box) => (
          <NodeBox key={box.node.name} box={box} />
        ))}
      </div>
    </section>
  );
}

function NodeBox({ box }: { box: Box }) {
  const { node } = box;
  const place = { left: `${box.x}px`, top: `${box.y}px`, width: `${BOX_WIDTH}px`, height: `${BOX_HEIGHT}px` };
  const content = (
    <>
      <span class="kind">
        <Icon name={KINDS[node.kind].icon} size={13} />
        {kindText(node)}
      </span>
      <strong title={node.name}>{node.name.replace(/^default\./, "")}</strong>
      <span class="facts">
        <NodeStateText node={node} />
        <span class="right">{figureOf(node)}</span>
      </span>
    </>
  );
  const look = `stream-box ${node.kind} ${node.state ?? ""}`;
  if (node.kind === "table") {
    return (
      <div class={look} style={place}>
        {content}
      </div>
    );
  }
  return (
    <a class={look} href={addressOfStream(node.name)} style={place}>
      {content}
    </a>
  );
}

function figureOf(node: StreamNode): string {
  if (node.kind === "stream") return node.place ?? "";
  if (node.kind === "table") return "";
  if (node.rows_per_second) return `${shortCount(node.rows_per_second)} rows/s`;
  return node.rows === null ? "" : counted(node.rows, "row");
}

export function totalsText(streams: Streams): string {
  const queries = streams.nodes.filter((node) => node.state !== null);
  const rate = queries.reduce((sum, node) => sum + (node.rows_per_second ?? 0), 0);
  const running = queries.filter((node) => node.state === "running").length;
  return `${count(running)} of ${count(queries.length)} running · ${shortCount(Math.round(rate))} rows/s`;
}
