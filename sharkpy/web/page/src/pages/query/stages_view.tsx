/** Stages on a line of time, with the tasks and buckets of one. */
import { useState } from "preact/hooks";
import type { Stage, TableLoad } from "../../api";
import { bytes, count, counted, seconds, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty } from "../../parts/parts";
import { Bars } from "./bars";
import { Fact } from "./operator_panel";
import { skewOf, withoutNumbers } from "./plan_layout";
import { type LoadSpan, type Span, stageSpans } from "./stage_spans";
import { Timeline } from "./timeline";

export function StagesView({ stages, loads }: { stages: Stage[]; loads: TableLoad[] }) {
  const [open, setOpen] = useState<number | null>(null);
  if (!stages.length && !loads.length) {
    return (
      <Empty icon="clock" title="No stages">
        <p>The statement was answered without tasks.</p>
      </Empty>
    );
  }
  const { spans, loadSpans, total } = stageSpans(stages, loads);
  return (
    <>
      <div class="card stages">
        <div class="stage-axis" aria-hidden="true">
          <span>0 s</span>
          <span>{seconds(total / 2)}</span>
          <span>{seconds(total)}</span>
        </div>
        <ul>
          {loadSpans.map((span) => (
            <li key={`${span.load.table} ${span.from}`}>
              <LoadRow span={span} total={total} />
            </li>
          ))}
          {spans.map((span) => (
            <li key={span.stage.number}>
              <StageRow
                span={span}
                total={total}
                isOpen={open === span.stage.number}
                onToggle={() => setOpen(open === span.stage.number ? null : span.stage.number)}
              />
            </li>
          ))}
        </ul>
      </div>
      <Timeline stages={stages} onChoose={setOpen} />
    </>
  );
}

function LoadRow({ span: { load, from }, total }: { span: LoadSpan; total: number }) {
  return (
    <div class="stage-row" title="The query waited until the table's blocks were made from its files">
      <span />
      <span class="stage-name">loading {load.table}</span>
      <span class="stage-track">
        <i
          class="loading"
          style={{ left: `${(100 * from) / total}%`, width: `max(3px, ${(100 * load.seconds) / total}%)` }}
        />
      </span>
      <span class="stage-facts">
        {seconds(load.seconds)}
        <small>{counted(load.blocks, "block")}</small>
      </span>
    </div>
  );
}

function StageRow(props: { span: Span; total: number; isOpen: boolean; onToggle: () => void }) {
  const { stage, from, seconds: length } = props.span;
  const skew = skewOf(stage.rows_per_task);
  return (
    <>
      <button type="button" class="stage-row" aria-expanded={props.isOpen} onClick={props.onToggle}>
        <Icon name={props.isOpen ? "down" : "right"} size={11} />
        <span class="stage-name">
          <strong>{stage.number}</strong> {withoutNumbers(stage.label)}
        </span>
        <span class="stage-track">
          {from !== null && (
            <i
              class={stage.placement}
              style={{
                left: `${(100 * from) / props.total}%`,
                width: `max(3px, ${(100 * length) / props.total}%)`,
              }}
            />
          )}
        </span>
        <span class="stage-facts">
          {seconds(stage.seconds)}
          <small>
            {stage.tasks === 1 ? "1 task" : `${count(stage.tasks)} tasks`} · {shortCount(stage.rows_out)} rows
          </small>
        </span>
      </button>
      {props.isOpen && (
        <div class="stage-details">
          <dl class="facts">
            <Fact title="Runs on" value={stage.placement === "rdd" ? "workers" : "driver"} />
            <Fact title="Time of tasks" value={seconds(stage.task_seconds)} />
            <Fact title="Rows in" value={count(stage.rows_in)} />
            <Fact title="Rows out" value={count(stage.rows_out)} />
            <Fact title="Bytes out" value={bytes(stage.bytes_out)} />
            {stage.exchange && <Fact title="Exchange" value={stage.exchange} />}
            {stage.blocks_rebuilt ? <Fact title="Blocks rebuilt" value={count(stage.blocks_rebuilt)} /> : null}
            {stage.repairs ? <Fact title="Failed runs before" value={count(stage.repairs)} /> : null}
            {stage.requests ? <Fact title="Requests to stores" value={count(stage.requests)} /> : null}
            {skew !== null && <Fact title="Skew of rows" value={`${skew.toFixed(1)}×`} />}
          </dl>
          <div class="stage-bars">
            {Boolean(stage.rows_per_task?.length) && (
              <section>
                <h4>Rows of each task</h4>
                <Bars values={stage.rows_per_task ?? []} format={count} label="Rows of each task" />
              </section>
            )}
            {Boolean(stage.cpu_seconds_per_task?.length) && (
              <section>
                <h4>CPU time of each task</h4>
                <Bars values={stage.cpu_seconds_per_task ?? []} format={seconds} label="CPU time of each task" />
              </section>
            )}
            {Boolean(stage.bucket_bytes?.length) && (
              <section>
                <h4>Bytes of each bucket</h4>
                <Bars values={stage.bucket_bytes ?? []} format={bytes} label="Bytes of each bucket" />
              </section>
            )}
          </div>
        </div>
      )}
    </>
  );
}
