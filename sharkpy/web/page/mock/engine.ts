/** An invented engine with a load that changes. */
import type { Engine, LogLine, Sample } from "../src/pages/engine/api.ts";
import { HOSTILE } from "./data.ts";
import { generator } from "./random.ts";

const GIB = 1 << 30;

function samples(now: number, since: number): Sample[] {
  const random = generator(3);
  return Array.from({ length: 600 }, (_, place) => {
    const wave = Math.sin(place / 40) + Math.sin(place / 11) / 2;
    return {
      time: new Date(now - (600 - place) * 2000).toISOString(),
      process_bytes: Math.floor(GIB * (2.1 + 0.7 * wave + 0.1 * random())),
      block_bytes: Math.floor(GIB * (1.2 + place / 500)),
      local_bytes: Math.floor(GIB / 4),
      cores: Math.max(0, 1.6 + 1.4 * wave + 0.5 * random()),
      running: Math.max(0, Math.round(3 + 3 * wave)),
      waiting: Math.max(0, Math.round(2 * wave - 1)),
      sessions: 12,
    };
  }).filter((sample) => Date.parse(sample.time) > since);
}

export function makeEngine(now: number, since: number, isHostile: boolean, isEmpty: boolean): Engine {
  const text = (usual: string) => (isHostile ? HOSTILE : usual);
  return {
    version: "0.1.0",
    warehouse: text("/data/warehouse"),
    started: new Date(now - 200_000_000).toISOString(),
    uptime_seconds: 200_000,
    cores: 8,
    memory: {
      machine_bytes: 16 * GIB,
      process_limit_bytes: 9.6 * GIB,
      block_limit_bytes: 2.6 * GIB,
      num_blocks: 8214,
      num_evicted: 112,
    },
    disks: [
      {
        use: "warehouse, blocks on disk",
        path: text("/data/warehouse"),
        total_bytes: 512 * GIB,
        free_bytes: 201 * GIB,
      },
      { use: "temporary files", path: "/tmp", total_bytes: 64 * GIB, free_bytes: 2 * GIB },
    ],
    samples: samples(now, since),
    places: [
      { kind: "sessions", used: 12, limit: 1000 },
      { kind: "statements", used: 7, limit: 200 },
      { kind: "browsers", used: 3, limit: 1000 },
    ],
    lanes: [
      {
        lane: "short",
        seconds: 1,
        limit: 16,
        running: 4,
        waiting: 0,
        pools: [{ pool: text("streams"), running: 2, waiting: 0, used_seconds: 1 }],
      },
      {
        lane: "long",
        seconds: 10,
        limit: 4,
        running: 4,
        waiting: 3,
        pools: [
          { pool: "session-4", running: 3, waiting: 2, used_seconds: 14 },
          { pool: "etl", running: 1, waiting: 1, used_seconds: 9 },
        ],
      },
      { lane: "longest", seconds: null, limit: 8, running: 1, waiting: 0, pools: [] },
    ],
    sessions: isEmpty
      ? []
      : ["ada", "grace", "etl", "edsger"].map((user, place) => ({
          user: text(user),
          address: text(`10.0.0.${place + 4}`),
          database: text("default"),
          idle_seconds: place * 340,
          statements: 3 - place,
          running: place ? 0 : 2,
        })),
    workers: {
      master: "local[8]",
      parallelism: 8,
      is_started: true,
      lost: 1,
      executors: [{ host: text("localhost"), running_tasks: 6 }],
    },
    settings: isEmpty
      ? []
      : [
          {
            key: "shark.block.rows",
            value: text("500000"),
            default: "1000000",
            meaning: text("Rows of a block of a table in memory."),
          },
          { key: "fs.s3a.secret.key", value: "***", default: "", meaning: "Key of S3." },
          { key: text("spark.executor.memory"), value: "4g", default: null, meaning: "" },
        ],
    errors: isEmpty
      ? []
      : [
          {
            sqlstate_class: "42",
            meaning: "Names, types and syntax",
            count: 214,
            last_query_id: "2026-099990",
            last_message: text('table "fligths" does not exist'),
            last_time: new Date(now - 60_000).toISOString(),
          },
          {
            sqlstate_class: "53",
            meaning: "Memory, disk and other resources",
            count: 3,
            last_query_id: "2026-099990",
            last_message: text("out of memory: the statement needs more than shark.query.memory"),
            last_time: new Date(now - 8_000_000).toISOString(),
          },
        ],
  };
}

export function makeLog(now: number, after: number, isHostile: boolean): LogLine[] {
  const texts = [
    ["info", "sharkpy.thrift.server", "listening on 127.0.0.1:10000"],
    ["info", "sharkpy.web.server", "the console is at http://127.0.0.1:10002/"],
    ["warning", "sharkpy.streaming.scheduler", "the continuous sink default.alerts waits for 4 s: the broker is away"],
    ["info", "sharkpy.thrift.sessions", "session of 'etl' closed: idle"],
    [
      "error",
      "sharkpy.streaming.scheduler",
      `the continuous insert was stopped\n  ${isHostile ? HOSTILE : "no column"}`,
    ],
  ] as const;
  return Array.from({ length: 40 }, (_, place) => {
    const [level, logger, text] = texts[place % texts.length] ?? texts[0];
    return { number: place + 1, time: new Date(now - (40 - place) * 9000).toISOString(), level, logger, text };
  }).filter((line) => line.number > after);
}
