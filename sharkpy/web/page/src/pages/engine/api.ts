/** Types of the API about the engine, and its calls. */
import { send } from "../../api";

export interface Sample {
  time: string;
  process_bytes: number;
  block_bytes: number;
  local_bytes: number;
  cores: number;
  running: number;
  waiting: number;
  sessions: number;
}

export interface Lane {
  lane: string;
  seconds: number | null;
  limit: number;
  running: number;
  waiting: number;
  pools: { pool: string; running: number; waiting: number; used_seconds: number }[];
}

export interface EngineSession {
  user: string;
  address: string;
  database: string;
  idle_seconds: number;
  statements: number;
  running: number;
}

export interface ChangedSetting {
  key: string;
  value: string;
  default: string | null;
  meaning: string;
}

export interface ErrorKind {
  sqlstate_class: string;
  meaning: string;
  count: number;
  last_query_id: string;
  last_message: string;
  last_time: string;
}

export interface Engine {
  version: string;
  warehouse: string;
  started: string;
  uptime_seconds: number;
  cores: number;
  memory: {
    machine_bytes: number;
    process_limit_bytes: number;
    block_limit_bytes: number | null;
    num_blocks: number | null;
    num_evicted: number | null;
  };
  disks: { use: string; path: string; total_bytes: number; free_bytes: number }[];
  samples: Sample[];
  places: { kind: string; used: number; limit: number }[];
  lanes: Lane[];
  sessions: EngineSession[];
  workers: {
    master: string;
    parallelism: number;
    is_started: boolean;
    lost: number;
    executors: { host: string; running_tasks: number }[];
  } | null;
  settings: ChangedSetting[];
  errors: ErrorKind[];
}

export interface LogLine {
  number: number;
  time: string;
  level: string;
  logger: string;
  text: string;
}

const MOST_SAMPLES = 900;
const MOST_LINES = 1000;

/** The engine now, with the known samples before the new ones. */
export async function askEngine(known: readonly Sample[], signal: AbortSignal): Promise<Engine> {
  const last = known.at(-1)?.time;
  const asked = last ? `?${new URLSearchParams({ since: last })}` : "";
  const found = (await (await send(`api/v1/engine${asked}`, { signal })).json()) as Engine;
  return { ...found, samples: [...known, ...found.samples].slice(-MOST_SAMPLES) };
}

export async function askLog(known: readonly LogLine[], signal: AbortSignal): Promise<LogLine[]> {
  const response = await send(`api/v1/engine/log?after=${known.at(-1)?.number ?? 0}`, { signal });
  const { lines } = (await response.json()) as { lines: LogLine[] };
  return [...known, ...lines].slice(-MOST_LINES);
}
