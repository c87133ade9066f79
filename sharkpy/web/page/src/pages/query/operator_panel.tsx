/** Details of one operator, or the operators that took most time. */
import type { ComponentChildren } from "preact";
import type { Profile } from "../../api";
import { bytes, count, percent, seconds } from "../../format";
import { Icon } from "../../parts/icons";
import { Bars } from "./bars";
import { type Box, detailOf, type PlanDrawing, skewOf } from "./plan_layout";

const HEAVIEST = 8;

interface PanelProperties {
  profile: Profile;
  drawing: PlanDrawing;
  box: Box | undefined;
  onChoose: (box: Box) => void;
  onClose: () => void;
}

export function OperatorPanel({ profile, drawing, box, onChoose, onClose }: PanelProperties) {
  if (!box && !drawing.isMeasured) return <HeaviestStages profile={profile} drawing={drawing} onChoose={onChoose} />;
  if (!box) return <Heaviest drawing={drawing} onChoose={onChoose} />;
  const { operator } = box;
  const stage = profile.stages.find((one) => one.number === operator.stage);
  const written = operator.children
    .map((id) => drawing.byId.get(id)?.operator.stage)
    .filter((number) => number !== operator.stage)
    .map((number) => profile.stages.find((one) => one.number === number))
    .find((one) => one?.bucket_bytes?.length);
  const skew = skewOf(written?.bucket_bytes);
  const read = box.children.map((child) => child.operator.rows);
  const rowsIn = read.length && !read.includes(null) ? read.reduce((sum: number, rows) => sum + (rows ?? 0), 0) : null;
  return (
    <aside class="plan-panel" aria-label={`Operator ${operator.kind}`}>
      <header>
        <h3>{operator.kind}</h3>
        <button type="button" class="button quiet small icon" aria-label="Close the details" onClick={onClose}>
          <Icon name="cross" size={13} />
        </button>
      </header>
      <p class="mono label">{operator.label}</p>
      <dl class="facts">
        {operator.seconds !== null && (
          <Fact title="Time" value={`${seconds(operator.seconds)} · ${percent(box.share, 1)}`} />
        )}
        {rowsIn !== null && <Fact title="Rows in" value={count(rowsIn)} />}
        {operator.rows !== null && <Fact title="Rows out" value={count(operator.rows)} />}
        {operator.bytes !== null && <Fact title="Bytes" value={bytes(operator.bytes)} />}
        {operator.blocks_read != null && <Fact title="Blocks read" value={count(operator.blocks_read)} />}
        {operator.blocks_pruned != null && (
          <Fact
            title="Blocks pruned"
            value={`${count(operator.blocks_pruned)} · ${percent(
              operator.blocks_pruned,
              operator.blocks_pruned + (operator.blocks_read ?? 0),
            )}`}
          />
        )}
        {stage && <Fact title="Stage" value={`${stage.number} · ${seconds(stage.seconds)}`} />}
        {stage && (
          <Fact title="Tasks" value={`${count(stage.tasks)} · ${stage.placement === "rdd" ? "workers" : "driver"}`} />
        )}
      </dl>
      {written?.bucket_bytes && (
        <section>
          <h4>
            Buckets of the exchange
            {skew !== null && <span class={skew >= 3 ? "skewed" : "muted"}> skew {skew.toFixed(1)}×</span>}
          </h4>
          <Bars values={written.bucket_bytes} format={bytes} label="Bytes of each bucket" />
        </section>
      )}
      {operator.notes.length > 0 && (
        <section>
          <h4>Notes</h4>
          <ul class="notes">
            {operator.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </section>
      )}
    </aside>
  );
}

function Heaviest({ drawing, onChoose }: { drawing: PlanDrawing; onChoose: (box: Box) => void }) {
  const heaviest = drawing.boxes
    .filter((box) => box.share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, HEAVIEST);
  return (
    <aside class="plan-panel" aria-label="Operators that took most time">
      <header>
        <h3>Most time</h3>
      </header>
      {heaviest.length ? (
        <ol class="heaviest">
          {heaviest.map((box) => (
            <li key={box.operator.id}>
              <button type="button" onClick={() => onChoose(box)}>
                <i class={`heat-${box.heat}`} />
                <span class="what">
                  <strong>{box.operator.kind}</strong>
                  <span class="mono">{detailOf(box.operator)}</span>
                </span>
                <span class="time">
                  {seconds(box.operator.seconds)}
                  <small>{percent(box.share, 1)}</small>
                </span>
              </button>
            </li>
          ))}
        </ol>
      ) : (
        <p class="muted">No operator took time.</p>
      )}
      <p class="muted hint">Choose an operator to see its figures.</p>
    </aside>
  );
}

function HeaviestStages(props: { profile: Profile; drawing: PlanDrawing; onChoose: (box: Box) => void }) {
  const { profile, drawing, onChoose } = props;
  const total = profile.stages.reduce((sum, stage) => sum + (stage.seconds ?? 0), 0);
  const heaviest = profile.stages
    .map((stage) => ({ stage, box: drawing.boxes.find(({ operator }) => operator.stage === stage.number) }))
    .sort((a, b) => (b.stage.seconds ?? 0) - (a.stage.seconds ?? 0))
    .slice(0, HEAVIEST);
  return (
    <aside class="plan-panel" aria-label="Stages that took most time">
      <header>
        <h3>Most time</h3>
      </header>
      <ol class="heaviest">
        {heaviest.map(({ stage, box }) => (
          <li key={stage.number}>
            <button type="button" disabled={!box} onClick={() => box && onChoose(box)}>
              <i class={`heat-${box?.heat ?? 0}`} />
              <span class="what">
                <strong>Stage {stage.number}</strong>
                <span class="mono">{box ? `${box.operator.kind} ${detailOf(box.operator)}` : stage.label}</span>
              </span>
              <span class="time">
                {seconds(stage.seconds)}
                <small>{percent(stage.seconds ?? 0, total)}</small>
              </span>
            </button>
          </li>
        ))}
      </ol>
      <p class="muted hint">Choose an operator to see its figures. EXPLAIN ANALYZE measures each operator.</p>
    </aside>
  );
}

export function Fact({ title, value }: { title: string; value: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{value}</dd>
    </div>
  );
}
