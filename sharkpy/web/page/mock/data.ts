/** Invented queries and profiles, for development and tests of the page. */
import type { Operator, Profile, Query, QueryState, Shape, SqlError, Stage } from "../src/api.ts";
import { generator } from "./random.ts";

/** Markup that would run if a page showed it unescaped. */
export const HOSTILE = `<img src=x onerror="window.hacked=1">"'><script>window.hacked=1</script>`;

const TEXTS = [
  `SELECT carrier, count(*) AS flights, avg(dep_delay) AS delay
FROM flights
WHERE origin = 'JFK' AND month BETWEEN 6 AND 8
GROUP BY carrier
ORDER BY delay DESC`,
  `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
WHERE l_shipdate <= date_sub('1998-12-01', 90)
GROUP BY l_returnflag, l_linestatus`,
  `INSERT INTO daily_sales
SELECT ss_sold_date_sk, sum(ss_net_paid)
FROM store_sales GROUP BY ss_sold_date_sk`,
  `-- Customers who came back
SELECT c.c_name, o.o_orderkey, o.o_totalprice
FROM customer c JOIN orders o ON c.c_custkey = o.o_custkey
WHERE o.o_totalprice > 400000
LIMIT 100`,
  "SHOW TABLES IN warehouse",
  `CREATE TABLE recent_flights STORED AS PARQUET AS
SELECT * FROM flights WHERE year = 2013 AND month = 12`,
  "SELECT word, count(1) AS n FROM docs LATERAL VIEW explode(split(line, ' ')) t AS word GROUP BY word",
] as const;

const USERS = ["ada", "grace", "edsger", "etl"];
const STATES: readonly QueryState[] = ["finished", "finished", "finished", "finished", "closed", "failed", "cancelled"];

export function errorOf(text: string): SqlError {
  const line = Math.min(2, text.split("\n").length);
  return {
    message: 'table "fligths" does not exist',
    sqlstate: "42S02",
    line,
    column: 6,
    hint: 'Did you mean "flights"?',
  };
}

export function makeQueries(amount: number, now: number, isHostile = false): Query[] {
  const random = generator(54);
  return Array.from({ length: amount }, (_, index) => {
    const text = isHostile
      ? `${HOSTILE}\nSELECT '${HOSTILE}'`
      : (TEXTS[Math.floor(random() * TEXTS.length)] ?? TEXTS[0]);
    const state: QueryState =
      index < 3 ? "running" : index === 3 ? "queued" : (STATES[Math.floor(random() * 7)] ?? "finished");
    const running = 10 ** (random() * 4 - 2);
    const rows = Math.floor(10 ** (3 + random() * 6));
    const isActive = state === "running" || state === "queued";
    return {
      query_id: `2026-${String(100000 - index).padStart(6, "0")}`,
      state,
      kind: text.startsWith("INSERT") ? "insert" : text.startsWith("CREATE") ? "create table" : "select",
      text: state === "failed" && !isHostile ? text.replace(/FROM flights/, "FROM fligths") : text,
      user: isHostile ? HOSTILE : (USERS[Math.floor(random() * USERS.length)] ?? "ada"),
      session: `s-${Math.floor(random() * 9)}`,
      tag: isHostile ? HOSTILE : random() < 0.15 ? "nightly report" : null,
      started: new Date(now - (isActive ? 4000 + 9000 * index : 30_000 + index * 97_000 * random())).toISOString(),
      seconds: isActive ? null : running + 0.03,
      queued_seconds: 0.002,
      planning_seconds: 0.028,
      running_seconds: isActive ? null : running,
      rows_read: rows,
      rows_returned: state === "finished" ? Math.floor(rows ** 0.4) : null,
      rows_written: text.startsWith("INSERT") ? 1800 : null,
      bytes_read: rows * 34,
      bytes_spilled: random() < 0.2 ? rows * 12 : 0,
      cpu_seconds: running * 1.7,
      peak_bytes: Math.floor(rows * 9 + 3e6),
      blocks_read: Math.ceil(rows / 65536),
      blocks_pruned: Math.floor((rows / 65536) * 3 * random()),
      progress:
        state === "running"
          ? {
              stage: "HashAggregate partial by [carrier#3]",
              stages_done: 1,
              tasks_done: 3 + 4 * index,
              tasks_total: 24,
              rows_read: rows,
              queued_behind: null,
            }
          : state === "queued"
            ? { stage: "queue", stages_done: 0, tasks_done: 0, tasks_total: 0, rows_read: 0, queued_behind: 2 }
            : null,
      error:
        state === "failed" ? { ...errorOf(text), ...(isHostile ? { message: HOSTILE, hint: HOSTILE } : {}) } : null,
    } satisfies Query;
  }).sort((a, b) => (a.started < b.started ? 1 : -1));
}

export function makeShapes(queries: Query[]): Shape[] {
  const groups = new Map<string, Query[]>();
  for (const query of queries) {
    const shape = query.text.replace(/'[^']*'|\b\d+\b/g, "?");
    groups.set(shape, [...(groups.get(shape) ?? []), query]);
  }
  return [...groups].map(([shape, group]) => {
    const times = group.map((query) => query.seconds ?? 0).sort((a, b) => a - b);
    return {
      shape,
      example_id: group[0]?.query_id ?? "",
      count: group.length,
      total_seconds: times.reduce((sum, time) => sum + time, 0),
      p50_seconds: times[Math.floor(times.length / 2)] ?? 0,
      p99_seconds: times.at(-1) ?? 0,
    };
  });
}

function operator(id: number, kind: string, label: string, children: number[], more: Partial<Operator>): Operator {
  return {
    id,
    stage: 1,
    children,
    kind,
    label,
    rows: 1000,
    bytes: 64_000,
    seconds: 0.01,
    blocks_read: null,
    blocks_pruned: null,
    notes: [],
    ...more,
  };
}

const WORKERS = ["node-1:4211", "node-1:4212", "node-2:3977", "node-2:3978"];

/** Runs of a stage's tasks, one after another on each worker. One task ran again, and one spilled. */
function taskRuns(number: number, tasks: number, length: number) {
  const random = generator(number + 1);
  const rounds = Math.ceil(tasks / WORKERS.length);
  const free = WORKERS.map(() => 0.02 * length);
  const seconds = Array.from({ length: tasks }, () => ((0.5 + 0.45 * random()) * length) / rounds);
  const places = seconds.map((_, task) => task % WORKERS.length);
  const starts = seconds.map((time, task) => {
    const worker = places[task] ?? 0;
    const start = free[worker] ?? 0;
    free[worker] = start + time;
    return start;
  });
  return {
    workers: WORKERS,
    worker_per_task: places,
    started_per_task: starts,
    seconds_per_task: seconds,
    attempts_per_task: number === 3 ? seconds.map((_, task) => (task === 6 ? 1 : 0)) : [],
    spilled_per_task: number === 3 ? seconds.map((_, task) => (task === 5 ? 12_500_000 : 0)) : [],
  };
}

function stage(number: number, label: string, more: Partial<Stage>): Stage {
  return {
    ...taskRuns(number, more.placement === "driver" ? 0 : (more.tasks ?? 8), more.seconds ?? 1),
    repairs: 0,
    number,
    label,
    placement: "rdd",
    tasks: 8,
    rows_in: 1_000_000,
    rows_out: 200_000,
    bytes_out: 9_000_000,
    started: 0,
    seconds: 1,
    task_seconds: 4,
    exchange: null,
    bucket_bytes: [],
    cpu_seconds_per_task: [],
    rows_per_task: [],
    blocks_rebuilt: 0,
    requests: 0,
    ...more,
  };
}

/** Profile of a join of two tables, with a skewed exchange. */
export function makeProfile(query: Query, isHostile = false): Profile {
  const random = generator(7);
  const skewed = Array.from({ length: 16 }, (_, bucket) => (bucket === 5 ? 8_400_000 : 400_000 + 250_000 * random()));
  const even = Array.from({ length: 16 }, () => 300_000 + 60_000 * random());
  const label = (text: string) => (isHostile ? HOSTILE : text);
  const started = Date.parse(query.started);
  // Runs differ in the time of the join.
  const slowness = 1 + Number(query.query_id.at(-1) ?? 0) / 4;
  const at = (passed: number) => new Date(started + 1000 * passed).toISOString();
  return {
    version: 1,
    query_id: query.query_id,
    text: query.text,
    user: query.user ?? "",
    started: query.started,
    seconds: query.seconds,
    planning_seconds: query.planning_seconds,
    queued_seconds: query.queued_seconds,
    running_seconds: query.running_seconds,
    rows_read: query.rows_read,
    rows_returned: query.rows_returned,
    bytes_read: query.bytes_read,
    rows_written: query.rows_written,
    bytes_spilled: 12_500_000,
    cpu_seconds: query.cpu_seconds,
    peak_bytes: query.peak_bytes,
    blocks_read: query.blocks_read,
    blocks_pruned: query.blocks_pruned,
    loading_seconds: 0.026,
    loads: [{ table: label("default.planes"), started: at(0.004), seconds: 0.026, blocks: 12 }],
    root: 0,
    operators: [
      operator(0, "Limit", label("first 100 rows"), [1], { stage: 4, rows: 100, bytes: 6400, seconds: 0.001 }),
      operator(1, "Sort", label("delay DESC"), [2], { stage: 4, rows: 340, bytes: 21_000, seconds: 0.012 }),
      operator(2, "Aggregate", label("carrier: count(*), avg(dep_delay)"), [3], { stage: 4, rows: 340, seconds: 0.21 }),
      operator(3, "ExchangeRead", label("hash(carrier) into 16"), [4], {
        stage: 4,
        rows: 81_000,
        bytes: 5_100_000,
        seconds: 0.05,
      }),
      operator(4, "PartialAggregate", label("carrier"), [5], {
        stage: 3,
        rows: 81_000,
        bytes: 5_100_000,
        seconds: 0.62,
      }),
      operator(5, "HashJoin", label("f.tailnum = p.tailnum (inner)"), [6, 9], {
        stage: 3,
        rows: 4_800_000,
        bytes: 310_000_000,
        seconds: 1.84 * slowness,
        notes: ["3 buckets spilled 12.5 MB to disk", "build side: planes"],
      }),
      operator(6, "ExchangeRead", label("hash(tailnum) into 16"), [7], {
        stage: 3,
        rows: 5_100_000,
        bytes: 204_000_000,
        seconds: 0.31,
      }),
      operator(7, "Filter", label("origin = 'JFK' AND month BETWEEN 6 AND 8"), [8], {
        stage: 1,
        rows: 5_100_000,
        bytes: 204_000_000,
        seconds: 0.4,
      }),
      operator(8, "Scan", label("flights (carrier, tailnum, dep_delay, origin, month)"), [], {
        stage: 1,
        rows: 22_400_000,
        bytes: 806_000_000,
        seconds: 0.93,
        blocks_read: 86,
        blocks_pruned: 258,
        notes: ["month and origin pruned 258 of 344 blocks"],
      }),
      operator(9, "ExchangeRead", label("hash(tailnum) into 16"), [10], {
        stage: 3,
        rows: 3322,
        bytes: 180_000,
        seconds: 0.004,
      }),
      operator(10, "Scan", label("planes (tailnum, model)"), [], {
        stage: 2,
        rows: 3322,
        bytes: 180_000,
        seconds: 0.006,
        blocks_read: 1,
        blocks_pruned: 0,
      }),
    ],
    stages: [
      stage(1, label("scan flights"), {
        started: at(0.03),
        seconds: 1.3,
        tasks: 12,
        rows_in: 22_400_000,
        rows_out: 5_100_000,
        bytes_out: 204_000_000,
        task_seconds: 4.9,
        exchange: "hash(tailnum)",
        bucket_bytes: skewed,
        cpu_seconds_per_task: Array.from({ length: 12 }, () => 0.3 + 0.1 * random()),
        rows_per_task: Array.from({ length: 12 }, () => Math.floor(4e5 + 3e4 * random())),
        blocks_rebuilt: 2,
      }),
      stage(2, label("scan planes"), {
        started: at(0.04),
        seconds: 0.2,
        tasks: 1,
        rows_in: 3322,
        rows_out: 3322,
        bytes_out: 180_000,
        task_seconds: 0.2,
        exchange: "hash(tailnum)",
        bucket_bytes: even.map((size) => size / 30),
      }),
      stage(3, label("join"), {
        started: at(1.34),
        seconds: 2.1,
        tasks: 16,
        rows_in: 5_103_322,
        rows_out: 81_000,
        bytes_out: 5_100_000,
        task_seconds: 7.9,
        exchange: "hash(carrier)",
        bucket_bytes: even,
        cpu_seconds_per_task: Array.from({ length: 16 }, (_, task) => (task === 5 ? 1.9 : 0.3 + 0.1 * random())),
        rows_per_task: Array.from({ length: 16 }, (_, task) => (task === 5 ? 2_100_000 : 200_000)),
      }),
      stage(4, label("aggregate, sort"), {
        placement: "driver",
        started: at(3.45),
        seconds: 0.3,
        tasks: 1,
        rows_in: 81_000,
        rows_out: 100,
        bytes_out: 6400,
        task_seconds: 0.3,
      }),
    ],
    decisions: [
      {
        when: "planning",
        text: label("The join reads both sides by exchanges: planes was not expected to be small"),
        figures: { expected_rows: 2_000_000, broadcast_limit_bytes: 10_485_760 },
      },
      {
        when: "run time",
        text: label("Bucket 5 of hash(tailnum) was split between 4 tasks"),
        figures: { bucket_bytes: 8_400_000, median_bytes: 512_000, tasks: 4 },
      },
      {
        when: "run time",
        text: label("The last aggregate ran in the driver, since its input was small"),
        figures: { rows: 81_000, limit_rows: 250_000 },
      },
    ],
    error: query.error,
  };
}

/** Profile with many operators: a tree with long branches and wide unions. */
export function makeLargeProfile(query: Query, amount: number): Profile {
  const random = generator(500);
  const kinds = ["Project", "Filter", "HashJoin", "Aggregate", "Sort", "ExchangeRead", "Window", "Union"];
  const operators: Operator[] = [];
  for (let id = 0; id < amount; id++) {
    const parent = id === 0 ? null : operators[Math.max(0, id - 1 - Math.floor(random() ** 3 * 12))];
    parent?.children.push(id);
    const kind = kinds[Math.floor(random() * kinds.length)] ?? "Project";
    operators.push(
      operator(id, kind, `${kind.toLowerCase()} ${id} of a long plan with a long label`, [], {
        stage: Math.floor(id / 12),
        rows: Math.floor(10 ** (random() * 8)),
        seconds: random() ** 6 * 2,
      }),
    );
  }
  for (const one of operators)
    if (!one.children.length)
      Object.assign(one, { kind: "Scan", blocks_read: 40, blocks_pruned: Math.floor(300 * random()) });
  return {
    ...makeProfile(query),
    operators,
    stages: Array.from({ length: Math.ceil(amount / 12) }, (_, number) =>
      stage(number, `stage ${number}`, {
        started: number * 0.11,
        seconds: 0.1 + random() * 0.8,
        bucket_bytes: Array.from({ length: 24 }, () => 1e6 * random()),
      }),
    ),
  };
}
