/** Types of the API about streams, and its calls. */
import { ApiError, postHeaders, type SqlError, send } from "../../api";
import { Answer, LineSplitter } from "../worksheet/json_lines";

export type NodeKind = "stream" | "continuous_table" | "insert" | "sink" | "table";
export type NodeState = "running" | "retrying" | "waiting" | "paused" | "stopped" | "finished";
export type EdgeKind = "reads" | "writes" | "bad_rows" | "late_rows" | "follows";

export interface StreamNode {
  name: string;
  kind: NodeKind;
  source: string | null;
  place: string | null;
  comment: string | null;
  state: NodeState | null;
  error: string | null;
  trigger: string | null;
  user: string | null;
  epoch: number | null;
  lag: number | null;
  rows: number | null;
  bad_rows: number | null;
  failures: number | null;
  rows_per_second: number | null;
  epoch_seconds: number | null;
}

export interface StreamEdge {
  source: string;
  target: string;
  kind: EdgeKind;
  lag: number | null;
  rows_per_second: number | null;
}

export interface Streams {
  nodes: StreamNode[];
  edges: StreamEdge[];
}

export interface Epoch {
  number: number;
  began: string;
  seconds: number | null;
  plan_seconds: number | null;
  run_seconds: number | null;
  commit_seconds: number | null;
  rows: number;
  bad_rows: number | null;
  waiting: number | null;
}

export interface StreamRead {
  name: string;
  lag: number;
  num_partitions: number;
  partitions: PartitionRead[];
  slowest_partition: number | null;
}

export interface PartitionRead {
  offset: number;
  end: number;
  latest: string | null;
  lag_seconds: number | null;
  is_before_watermark: boolean;
}

export interface Watermark {
  stream: string;
  time: string | null;
  latest: string | null;
  lag_seconds: number | null;
  is_idle: boolean;
}

export interface Stream {
  node: StreamNode;
  definition: string;
  reads: StreamRead[];
  watermarks: Watermark[];
  watermark: string | null;
  held_back_by: string | null;
  late_rows: number | null;
  state_rows: number | null;
  state_bytes: number | null;
  epochs: Epoch[];
  retained: { number: number; written: string }[];
}

export async function askStreams(signal: AbortSignal): Promise<Streams> {
  return (await (await send("api/v1/streams", { signal })).json()) as Streams;
}

export async function askStream(name: string, signal: AbortSignal): Promise<Stream> {
  return (await (await send(`api/v1/streams/${encodeURIComponent(name)}`, { signal })).json()) as Stream;
}

/** Run a statement of the reader to its end. Raise ApiError with the statement's error. */
export async function runStatement(statement: string): Promise<void> {
  const response = await send("v1/sql", {
    method: "POST",
    headers: { ...postHeaders(), Accept: "application/x-ndjson" },
    body: JSON.stringify({ statement }),
  });
  const answer = new Answer();
  const lines = new LineSplitter();
  answer.addLines([...lines.add(await response.text()), ...lines.end()]);
  if (answer.error) throw new ApiError(response.status, answer.error satisfies SqlError);
}
