/** Invented streams, with a continuous query in each state. Statements of the page change them. */
import type { Epoch, NodeState, Stream, StreamEdge, StreamNode, Streams } from "../src/pages/streams/api.ts";
import { HOSTILE } from "./data.ts";
import { generator } from "./random.ts";

const NOTHING = {
  source: null,
  place: null,
  comment: null,
  state: null,
  error: null,
  trigger: null,
  user: null,
  epoch: null,
  lag: null,
  rows: null,
  bad_rows: null,
  failures: null,
  rows_per_second: null,
  epoch_seconds: null,
} as const;

function stream(name: string, source: string, place: string | null): StreamNode {
  return { ...NOTHING, name: `default.${name}`, kind: "stream", source, place };
}

function query(
  kind: StreamNode["kind"],
  name: string,
  state: NodeState,
  rate: number,
  lag: number,
  more: Partial<StreamNode> = {},
): StreamNode {
  return {
    ...NOTHING,
    name: `default.${name}`,
    kind,
    state,
    trigger: "EVERY 0 MILLISECONDS",
    user: "ada",
    epoch: 1284,
    lag,
    rows: 18_204_331,
    bad_rows: 0,
    failures: 0,
    rows_per_second: rate,
    epoch_seconds: 0.042,
    ...more,
  };
}

const ERROR = 'the table default.large of the insert has no column "amount" any more [SQLSTATE 42703]';

export function makeStreams(isHostile: boolean): Streams {
  const nodes: StreamNode[] = [
    stream("clicks", "KAFKA", "clicks"),
    stream("orders", "FOLDER", "s3://shop/orders"),
    query("continuous_table", "hits", "running", 12_400, 320),
    query("continuous_table", "per_minute", "running", 48, 0, { bad_rows: 17, trigger: "EVERY 1000 MILLISECONDS" }),
    query("insert", "large_orders", "stopped", 0, 4120, { error: ERROR, failures: 1 }),
    query("sink", "alerts", "retrying", 3.2, 12, {
      source: "KAFKA",
      place: "alerts",
      error: "the broker kafka-2:9092 cannot be reached [SQLSTATE 08006]",
      failures: 4,
    }),
    query("continuous_table", "revenue", "paused", 0, 18_000),
    { ...NOTHING, name: "default.large", kind: "table" },
    { ...NOTHING, name: "default.bad_clicks", kind: "table" },
    stream("large_rows", "TABLE", "default.large"),
    query("sink", "archive", "finished", 0, 0, {
      source: "FOLDER",
      place: "/data/archive",
      trigger: "AVAILABLE NOW",
      rows_per_second: null,
    }),
  ];
  const edge = (source: string, target: string, kind: StreamEdge["kind"], lag: number | null = null): StreamEdge => ({
    source: `default.${source}`,
    target: `default.${target}`,
    kind,
    lag,
    rows_per_second: null,
  });
  const edges = [
    edge("clicks", "hits", "reads", 320),
    edge("clicks", "per_minute", "reads", 0),
    edge("orders", "large_orders", "reads", 4120),
    edge("orders", "revenue", "reads", 18_000),
    edge("clicks", "revenue", "reads", 0),
    edge("clicks", "alerts", "reads", 12),
    edge("large_orders", "large", "writes"),
    edge("per_minute", "bad_clicks", "bad_rows"),
    edge("large", "large_rows", "follows"),
    edge("large_rows", "archive", "reads", 0),
  ];
  if (!isHostile) return { nodes, edges };
  const rename = (name: string) => `${name} ${HOSTILE}`;
  return {
    nodes: nodes.map((node) => ({
      ...node,
      name: rename(node.name),
      place: HOSTILE,
      comment: HOSTILE,
      trigger: node.trigger && HOSTILE,
      user: HOSTILE,
      error: node.error && HOSTILE,
    })),
    edges: edges.map((one) => ({ ...one, source: rename(one.source), target: rename(one.target) })),
  };
}

const NO_TIME = { latest: null, lag_seconds: null, is_before_watermark: false };
const PARTITION_TIMES = [
  { latest: "2026-05-01 10:21:00", lag_seconds: 0, is_before_watermark: false },
  { latest: "2026-05-01 10:19:30", lag_seconds: 90, is_before_watermark: true },
  { latest: "2026-05-01 10:20:58", lag_seconds: 2, is_before_watermark: false },
] as const;

/** Whether the partitions of a stream have event times: only those of Kafka do. */
function hasTimes(name: string): boolean {
  return name.startsWith("default.clicks");
}

export function makeStream(streams: Streams, name: string, now: number): Stream | null {
  const node = streams.nodes.find((one) => one.name === name);
  if (!node || node.kind === "table") return null;
  const random = generator(7);
  const epochs: Epoch[] = node.state
    ? Array.from({ length: 120 }, (_, place) => {
        const [plan, run, commit] = [0.002 + random() * 0.002, 0.012 + random() * 0.03, 0.005 + random() * 0.006];
        return {
          number: (node.epoch ?? 0) - 119 + place,
          began: new Date(now - (120 - place) * 1000).toISOString(),
          seconds: plan + run + commit,
          plan_seconds: plan,
          run_seconds: run,
          commit_seconds: commit,
          rows: Math.floor(9000 + 5000 * Math.sin(place / 9) + 2500 * random()),
          bad_rows: place === 80 ? 17 : 0,
          waiting: Math.floor(120 * random() * (place > 90 ? 4 : 1)),
        };
      })
    : [];
  const reads = streams.edges.filter((edge) => edge.target === name && edge.kind === "reads");
  const hasState = node.kind === "continuous_table";
  return {
    node,
    definition: node.state
      ? `CREATE CONTINUOUS TABLE \`${name}\`\nTRIGGER ${node.trigger}\nAS SELECT url, count(*) AS n FROM clicks\nGROUP BY url WINDOWING 60 s`
      : `CREATE STREAM \`${name}\`(\n  \`url\` string,\n  \`ts\` timestamp)\nFROM ${node.source}`,
    reads: reads.map((edge) => ({
      name: edge.source,
      lag: edge.lag ?? 0,
      num_partitions: 3,
      partitions: [0, 1, 2].map((place) => ({
        offset: 604_331 + 1000 * place,
        end: 604_331 + 1000 * place + (place === 1 ? (edge.lag ?? 0) : 0),
        ...((hasState && hasTimes(edge.source) && PARTITION_TIMES[place]) || NO_TIME),
      })),
      slowest_partition: hasState && hasTimes(edge.source) ? 1 : null,
    })),
    watermarks: hasState
      ? reads.map((edge) => ({
          stream: edge.source,
          time: hasTimes(edge.source) ? "2026-05-01 10:20:50" : "2026-05-01 10:21:30",
          latest: hasTimes(edge.source) ? "2026-05-01 10:21:00" : "2026-05-01 10:21:40",
          lag_seconds: hasTimes(edge.source) && reads.length > 1 ? 40 : 0,
          is_idle: false,
        }))
      : [],
    watermark: hasState ? "2026-05-01 10:20:50" : null,
    held_back_by: hasState && reads.length > 1 ? (reads.at(-1)?.source ?? null) : null,
    late_rows: hasState ? 240 : null,
    state_rows: hasState ? 84_221 : null,
    state_bytes: hasState ? 3_400_221 : null,
    epochs,
    retained: hasState
      ? epochs.slice(-20).map((one) => ({ number: one.number, written: new Date(Date.parse(one.began)).toISOString() }))
      : [],
  };
}

/** Change what a statement of the page changes. Return whether it is one. */
export function control(streams: Streams, statement: string): boolean {
  const found = /^(PAUSE|RESUME|ROLLBACK) CONTINUOUS \w+ `(\w+)`\.`(.*?)`(?: TO EPOCH (\d+))?$/.exec(statement);
  if (!found) return false;
  const node = streams.nodes.find((one) => one.name === `${found[2]}.${found[3]}`);
  if (!node) return false;
  if (found[1] === "ROLLBACK") node.epoch = Number(found[4]);
  else {
    node.state = found[1] === "PAUSE" ? "paused" : "running";
    node.error = null;
  }
  return true;
}
