/** Tasks of all stages on a line of time, by the worker that ran them. */
import type { Stage } from "../../api";
import { bytes, counted, percent, seconds } from "../../format";
import { stageSpans } from "./stage_spans";
import "../../styles/timeline.css";

export interface TaskBlock {
  stage: number;
  /** Number of the task in its stage, or null for a whole stage in the driver. */
  task: number | null;
  /** Seconds after the first stage began. */
  from: number;
  seconds: number;
  /** Runs of the task that were lost before. */
  attempt: number;
  spilled: number;
  /** Tasks that overlap are in different lanes. */
  lane: number;
}

export interface WorkerRow {
  name: string;
  blocks: TaskBlock[];
  lanes: number;
  busy: number;
}

/** Rows of the drawing: the driver, then the workers in the order of their first tasks. */
export function workerRows(stages: readonly Stage[]): { rows: WorkerRow[]; total: number } {
  const byWorker = new Map<string, TaskBlock[]>();
  const add = (name: string, block: Omit<TaskBlock, "lane">) => {
    const blocks = byWorker.get(name) ?? [];
    byWorker.set(name, blocks);
    blocks.push({ ...block, lane: 0 });
  };
  const { spans, total: ofStages } = stageSpans(stages);
  let total = ofStages;
  for (const { stage, from } of spans) {
    if (from === null) continue;
    if (stage.placement === "driver") {
      add("driver", { stage: stage.number, task: null, from, seconds: stage.seconds ?? 0, attempt: 0, spilled: 0 });
    }
    for (const [task, worker] of (stage.worker_per_task ?? []).entries()) {
      const start = Math.max(0, from + (stage.started_per_task?.[task] ?? 0));
      const length = stage.seconds_per_task?.[task] ?? 0;
      total = Math.max(total, start + length);
      add(stage.workers?.[worker] ?? `worker ${worker}`, {
        stage: stage.number,
        task,
        from: start,
        seconds: length,
        attempt: stage.attempts_per_task?.[task] ?? 0,
        spilled: stage.spilled_per_task?.[task] ?? 0,
      });
    }
  }
  const rows = [...byWorker].map(([name, blocks]) => {
    const ends: number[] = [];
    for (const block of blocks.sort((a, b) => a.from - b.from)) {
      // Starts and ends are rounded.
      const free = ends.findIndex((end) => end <= block.from + 0.0005);
      block.lane = free < 0 ? ends.length : free;
      ends[block.lane] = block.from + block.seconds;
    }
    return { name, blocks, lanes: ends.length, busy: blocks.reduce((sum, block) => sum + block.seconds, 0) };
  });
  const firstStart = (row: WorkerRow) => (row.name === "driver" ? -1 : (row.blocks[0]?.from ?? 0));
  rows.sort((a, b) => firstStart(a) - firstStart(b) || a.name.localeCompare(b.name));
  return { rows, total };
}

export function Timeline({ stages, onChoose }: { stages: Stage[]; onChoose: (stage: number) => void }) {
  if (!stages.some((stage) => stage.worker_per_task?.length)) return null;
  const { rows, total } = workerRows(stages);
  const blocks = rows.flatMap((row) => row.blocks);
  return (
    <section class="card timeline" aria-label="Tasks by worker">
      <header>
        <h3>Tasks by worker</h3>
        <span class="legend" aria-hidden="true">
          {blocks.some((block) => block.attempt > 0) && (
            <>
              <i class="again" /> run again
            </>
          )}
          {blocks.some((block) => block.spilled > 0) && (
            <>
              <i class="spilled" /> spilled
            </>
          )}
        </span>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: many workers scroll by the keyboard */}
      <div class="timeline-rows" role="region" aria-label="Workers" tabIndex={0}>
        {rows.map((row) => (
          <div key={row.name} class="timeline-row">
            <span class="timeline-name mono" title={row.name}>
              {row.name}
            </span>
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list of stages takes keys */}
            <div
              class="timeline-track"
              role="img"
              aria-label={`${counted(row.blocks.length, row.name === "driver" ? "stage" : "task")} in ${seconds(row.busy)}`}
              style={{ height: `${Math.max(18, row.lanes * 12)}px` }}
              onClick={(event) => {
                const stage = (event.target as Element).getAttribute("data-stage");
                if (stage) onChoose(Number(stage));
              }}
            >
              {row.blocks.map((block) => (
                <i
                  key={`${block.stage} ${block.task}`}
                  class={blockClass(block, row.name)}
                  data-stage={block.stage}
                  title={blockTitle(block)}
                  style={{
                    left: `${(100 * block.from) / total}%`,
                    width: `max(2px, ${(100 * block.seconds) / total}%)`,
                    top: `${(100 * block.lane) / row.lanes}%`,
                    height: `${100 / row.lanes}%`,
                  }}
                />
              ))}
            </div>
            <span class="timeline-busy" title={`busy for ${seconds(row.busy)}`}>
              {percent(Math.min(row.busy, total * row.lanes), total * row.lanes)} busy
            </span>
          </div>
        ))}
      </div>
      <div class="timeline-axis" aria-hidden="true">
        <span>0 s</span>
        <span>{seconds(total / 2)}</span>
        <span>{seconds(total)}</span>
      </div>
    </section>
  );
}

function blockClass(block: TaskBlock, worker: string): string {
  const classes = [`shade-${block.stage % 4}`];
  if (worker === "driver") classes.push("driver");
  if (block.attempt > 0) classes.push("again");
  if (block.spilled > 0) classes.push("spilled");
  return classes.join(" ");
}

function blockTitle(block: TaskBlock): string {
  const parts = [block.task === null ? `Stage ${block.stage}` : `Task ${block.task} of stage ${block.stage}`];
  parts.push(seconds(block.seconds), `from ${seconds(block.from)}`);
  if (block.attempt > 0) parts.push(`run again, ${counted(block.attempt, "run")} lost`);
  if (block.spilled > 0) parts.push(`spilled ${bytes(block.spilled)}`);
  return parts.join(" · ");
}
