/** Lineage as a picture, and the statements and definitions that it comes from. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ago, fullTime } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty, Failure, useNow } from "../../parts/parts";
import { SqlLine } from "../../parts/sql_text";
import { type LineageEdge, type TableName, tablesApi } from "./api";
import { useAnswer } from "./ask";
import { kindIcon, placeOf } from "./kinds";
import { drawLineage, keyOf, type LineagePicture, NODE_HEIGHT, NODE_WIDTH } from "./lineage_layout";

const WAYS: Record<string, string> = {
  view: "the view reads it",
  stream: "the stream follows it",
  "continuous query": "a continuous query reads it",
  statement: "a statement has written it",
};

export function LineageTab({ table }: { table: TableName }) {
  const { answer, error, again } = useAnswer("lineage", (signal) => tablesApi.lineage(table, signal));
  const [pointed, setPointed] = useState<string | null>(null);
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return null;
  if (!answer.edges.length) {
    return (
      <Empty icon="stream" title="No lineage is known">
        <p>
          It comes from views, continuous queries, streams, and from statements in the history: CREATE TABLE … AS,
          INSERT and MERGE.
        </p>
      </Empty>
    );
  }
  const picture = drawLineage(answer);
  return (
    <div class="tab-body">
      <Picture picture={picture} own={keyOf(table)} pointed={pointed} onPoint={setPointed} />
      {!answer.is_whole && (
        <p class="muted">Tables that are further away are not shown. Open one to see its own lineage.</p>
      )}
      <Edges edges={answer.edges} onPoint={setPointed} />
    </div>
  );
}

function Picture(props: {
  picture: LineagePicture;
  own: string;
  pointed: string | null;
  onPoint: (key: string | null) => void;
}) {
  const { picture, own, pointed } = props;
  const frame = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new picture shows the asked table
  useLayoutEffect(() => {
    const node = picture.nodes.find((one) => one.key === own);
    if (frame.current && node) frame.current.scrollLeft = node.x + NODE_WIDTH / 2 - frame.current.clientWidth / 2;
  }, [own]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide picture scrolls by the keyboard
    <div ref={frame} class="card lineage" role="region" aria-label="Picture of the lineage" tabIndex={0}>
      <div class="lineage-area" style={{ width: `${picture.width}px`, height: `${picture.height}px` }}>
        <svg width={picture.width} height={picture.height} aria-hidden="true">
          <defs>
            <marker id="lineage-end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0 8 4 0 8z" />
            </marker>
          </defs>
          {picture.links.map(({ edge, path }) => (
            <path
              key={`${edge.source} ${edge.target}`}
              class={edgeClass(edge, pointed)}
              d={path}
              marker-end="url(#lineage-end)"
            />
          ))}
        </svg>
        {picture.nodes.map((node) => (
          <a
            key={node.key}
            class={node.key === own ? "lineage-node own" : "lineage-node"}
            style={{ left: `${node.x}px`, top: `${node.y}px`, width: `${NODE_WIDTH}px`, height: `${NODE_HEIGHT}px` }}
            href={`#${placeOf(node.table)}?tab=lineage`}
            title={`${node.key}: ${node.table.kind}`}
            aria-current={node.key === own ? "true" : undefined}
            onPointerEnter={() => props.onPoint(node.key)}
            onPointerLeave={() => props.onPoint(null)}
          >
            <Icon name={kindIcon(node.table.kind)} size={15} />
            <span>
              <b>{node.table.name}</b>
              <small>
                {node.table.database} · {node.table.kind}
              </small>
            </span>
          </a>
        ))}
      </div>
    </div>
  );
}

function edgeClass(edge: LineageEdge, pointed: string | null): string {
  const isNear = edge.source === pointed || edge.target === pointed || edgeKey(edge) === pointed;
  return `lineage-edge ${edge.by === "statement" ? "by-statement" : ""} ${isNear ? "near" : ""}`;
}

function edgeKey(edge: LineageEdge): string {
  return `${edge.source} → ${edge.target}`;
}

function Edges({ edges, onPoint }: { edges: readonly LineageEdge[]; onPoint: (key: string | null) => void }) {
  const now = useNow(60_000);
  return (
    <div class="card table-frame">
      <table class="table columns-table">
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Because</th>
            <th scope="col">Statement</th>
          </tr>
        </thead>
        <tbody>
          {edges.map((edge) => (
            <tr key={edgeKey(edge)} onPointerEnter={() => onPoint(edgeKey(edge))} onPointerLeave={() => onPoint(null)}>
              <th scope="row">
                <code>{edge.source}</code>
              </th>
              <td>
                <code>{edge.target}</code>
              </td>
              <td>{WAYS[edge.by] ?? edge.by}</td>
              <td class="of-text" title={edge.statement ?? undefined}>
                {edge.statement && <EdgeStatement edge={edge} now={now} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function EdgeStatement({ edge, now }: { edge: LineageEdge; now: number }) {
  const line = <SqlLine text={edge.statement ?? ""} />;
  return (
    <>
      {edge.query_id ? <a href={`#/queries/${encodeURIComponent(edge.query_id)}`}>{line}</a> : line}
      <small class="muted" title={edge.time ? fullTime(edge.time) : undefined}>
        {edge.user || "anonymous"}
        {edge.time && `, ${ago(edge.time, now)}`}
      </small>
    </>
  );
}
