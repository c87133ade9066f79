/** One stream or continuous query: its state, what to do about an error, live charts, epochs and definition. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { ApiError } from "../../api";
import { ago, bytes, count, seconds, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import { LiveChart } from "../../parts/live_chart";
import { Empty, Failure, useNow, useTitle } from "../../parts/parts";
import { usePoll } from "../../parts/poll";
import { SqlText } from "../../parts/sql_text";
import { askStream, type Epoch, type Stream, type StreamRead } from "./api";
import { ControlButtons } from "./control";
import { NodeStateText } from "./node_state";
import { endOf, lagOf, type Observed, rateOf } from "./series";
import { addressOfStream, isBehind, kindText, partitionText, STATES, triggerText, watermarkText } from "./words";
import "./streams.css";

const PERIOD = 1500;
const MOST_SEEN = 400;
const SHOWN_EPOCHS = 15;

export function StreamPage({ name }: { name: string }) {
  useTitle(name);
  const seen = useRef<Observed[]>([]);
  const { answer, error, again } = usePoll(async (signal) => {
    const found = await askStream(name, signal);
    if (found.node.lag !== null) {
      seen.current = [...seen.current.slice(1 - MOST_SEEN), { time: Date.now() / 1000, lag: found.node.lag }];
    }
    return found;
  }, PERIOD);
  const isMissing = error instanceof ApiError && error.status === 404;
  return (
    <div class="page">
      <div class="page-head">
        <a class="button quiet small icon" href="#/streams" aria-label="All streams">
          <Icon name="left" size={15} />
        </a>
        <h1 class="stream-name">{name}</h1>
        {answer && <NodeStateText node={answer.node} />}
        <div class="right">{answer?.node.state && <ControlButtons stream={answer} again={again} />}</div>
      </div>
      {isMissing && (
        <Empty icon="search" title="There is no such stream">
          <p>It may have been dropped or renamed.</p>
          <a class="button" href="#/streams">
            Show all streams
          </a>
        </Empty>
      )}
      {error && !isMissing && <Failure error={error} onRetry={again} />}
      {answer && !isMissing && <StreamFacts stream={answer} seen={seen.current} />}
    </div>
  );
}

function StreamFacts({ stream, seen }: { stream: Stream; seen: readonly Observed[] }) {
  const { node } = stream;
  return (
    <>
      <p class="muted stream-facts">
        <span>{kindText(node)}</span>
        {node.place && <span class="mono">{node.place}</span>}
        {node.trigger && <span>{triggerText(node.trigger)}</span>}
        {node.user && <span>by {node.user}</span>}
        {node.comment && <span>{node.comment}</span>}
      </p>
      <ErrorNotice stream={stream} />
      {node.state && (
        <>
          <FigureTiles stream={stream} />
          {stream.epochs.length > 0 ? (
            <Charts stream={stream} seen={seen} />
          ) : (
            <div class="card">
              <Empty icon="chart" title="No epoch yet">
                <p>
                  The first one begins when there is input{node.state === "paused" && ", and the query is resumed"}.
                </p>
              </Empty>
            </div>
          )}
          <div class="columns">
            <Reads stream={stream} />
            <Epochs epochs={stream.epochs} />
          </div>
        </>
      )}
      <section aria-label="Definition" class="stream-definition">
        <h2>Definition</h2>
        <SqlText text={stream.definition} error={null} />
      </section>
    </>
  );
}

function ErrorNotice({ stream: { node } }: { stream: Stream }) {
  if (!node.state) return null;
  const { text, advice } = STATES[node.state];
  if (!node.error && !advice) return null;
  return (
    <div class={node.state === "stopped" ? "notice bad stream-error" : "notice stream-error"} role="alert">
      <strong>{node.error ?? text}</strong>
      <span>{advice}</span>
    </div>
  );
}

function FigureTiles({ stream }: { stream: Stream }) {
  const { node } = stream;
  const last = stream.epochs.at(-1);
  const marks = stream.watermarks;
  return (
    <div class="stream-tiles">
      <Figure title="Rows written per second" value={shortCount(node.rows_per_second)}>
        {shortCount(node.rows)} rows in all
      </Figure>
      <Figure title="Lag" value={count(node.lag)} tone={isBehind(node.state, node.lag) ? "warn" : ""}>
        {node.lag === null ? "" : node.lag === 1 ? "item waits" : "items wait"}
      </Figure>
      <Figure title="Epoch time" value={seconds(node.epoch_seconds)}>
        {last?.run_seconds != null &&
          `plan ${seconds(last.plan_seconds)} · run ${seconds(last.run_seconds)} · commit ${seconds(last.commit_seconds)}`}
      </Figure>
      <Figure title="Bad rows" value={count(node.bad_rows)} tone={node.bad_rows ? "bad" : ""}>
        {stream.late_rows !== null && `${count(stream.late_rows)} late rows`}
      </Figure>
      {(stream.state_bytes !== null || stream.state_rows !== null) && (
        <Figure title="State" value={bytes(stream.state_bytes)}>
          {stream.state_rows !== null && `${shortCount(stream.state_rows)} rows`}
        </Figure>
      )}
      {marks.length > 0 && (
        <Figure title="Watermark" value={timeText(stream.watermark)} isText>
          {stream.held_back_by
            ? `held back by ${stream.held_back_by}`
            : marks.length > 1
              ? "the least of its streams"
              : (marks[0]?.stream ?? "")}
        </Figure>
      )}
    </div>
  );
}

function timeText(time: string | null): string {
  return time?.replace(/\.\d+$/, "") ?? "no time yet";
}

function Figure(props: {
  title: string;
  value: string;
  tone?: string;
  isText?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <div class={`card stream-figure ${props.tone ?? ""}`}>
      <span>{props.title}</span>
      <strong class={props.isText ? "of-time" : ""}>{props.value}</strong>
      <small>{props.children}</small>
    </div>
  );
}

function Charts({ stream, seen }: { stream: Stream; seen: readonly Observed[] }) {
  const { epochs } = stream;
  const now = Date.now() / 1000;
  const { times, rates } = rateOf(epochs, now);
  const { times: lagTimes, lags } = lagOf(epochs, seen);
  const ends = epochs.map(endOf);
  const sums = (...parts: ("plan_seconds" | "run_seconds" | "commit_seconds")[]) =>
    epochs.map((one) => parts.reduce<number | null>((sum, part) => add(sum, one[part]), 0));
  return (
    <div class="live-charts">
      <LiveChart
        title="Rows written per second"
        times={times}
        lines={[{ label: "rows/s", colour: "--accent", values: rates, isFilled: true }]}
        text={(value) => shortCount(value)}
      />
      <LiveChart
        title="Epoch time by phase"
        times={ends}
        lines={[
          { label: "plan, run and commit", colour: "--accent", values: epochs.map((one) => one.seconds) },
          { label: "plan and run", colour: "--sql-number", values: sums("plan_seconds", "run_seconds") },
          { label: "plan", colour: "--warn", values: sums("plan_seconds"), isFilled: true },
        ]}
        text={(value) => seconds(value)}
      />
      <LiveChart
        title="Lag"
        times={lagTimes}
        lines={[{ label: "items waiting", colour: "--warn", values: lags, isFilled: true }]}
        text={(value) => shortCount(value)}
        top={5}
      />
    </div>
  );
}

function add(sum: number | null, part: number | null): number | null {
  return sum === null || part === null ? null : sum + part;
}

function Reads({ stream }: { stream: Stream }) {
  return (
    <section class="card panel" aria-label="Streams that it reads">
      <header>
        <h2>Reads</h2>
      </header>
      <ul class="stream-reads">
        {stream.reads.map((read) => (
          <li key={read.name}>
            <div class="read-head">
              <a href={addressOfStream(read.name)}>{read.name}</a>
              <span class={isBehind(stream.node.state, read.lag) ? "lags" : "muted"}>
                {read.lag ? `${count(read.lag)} waiting` : "up to date"}
              </span>
            </div>
            {read.partitions.map((one, place) => (
              <div key={place} class="read-partition">
                <span class="muted">{read.num_partitions > 1 ? `partition ${place}` : "items"}</span>
                <progress class="progress" max={one.end || 1} value={one.offset} aria-label={`Read of ${read.name}`} />
                <span>
                  {count(one.offset)} of {count(one.end)}
                </span>
                {one.latest && (
                  <small class={one.is_before_watermark ? "read-time lags" : "read-time muted"}>
                    {partitionText(one)}
                  </small>
                )}
              </div>
            ))}
            {read.num_partitions > read.partitions.length && (
              <p class="muted">and {count(read.num_partitions - read.partitions.length)} more partitions</p>
            )}
            <SlowestPartition read={read} />
          </li>
        ))}
        {stream.watermarks.map((mark) => (
          <li key={`watermark ${mark.stream}`}>
            <div class="read-head">
              <span class="muted">Watermark of {mark.stream}</span>
              <span class={mark.stream === stream.held_back_by ? "lags" : ""}>{timeText(mark.time)}</span>
            </div>
            <small class="muted">{watermarkText(mark, stream.held_back_by)}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}

function SlowestPartition({ read }: { read: StreamRead }) {
  if (read.slowest_partition === null) return null;
  return (
    <p class="muted read-note">
      Partition {read.slowest_partition} is the slowest. It does not hold the watermark back: the watermark follows the
      latest row of all partitions, so rows of a slow partition may be late.
    </p>
  );
}

function Epochs({ epochs }: { epochs: readonly Epoch[] }) {
  const now = useNow(5000);
  return (
    <section class="card panel" aria-label="Last epochs">
      <header>
        <h2>Last epochs</h2>
      </header>
      <div class="table-frame">
        <table class="table compact">
          <thead>
            <tr>
              <th class="number">Epoch</th>
              <th>Began</th>
              <th class="number">Time</th>
              <th class="number">Rows</th>
              <th class="number">Bad</th>
            </tr>
          </thead>
          <tbody>
            {epochs
              .slice(-SHOWN_EPOCHS)
              .reverse()
              .map((one) => (
                <tr key={one.number}>
                  <td class="number" data-title="Epoch">
                    {count(one.number)}
                  </td>
                  <td>{ago(one.began, now)}</td>
                  <td class="number" data-title="Time">
                    {seconds(one.seconds)}
                  </td>
                  <td class="number" data-title="Rows">
                    {count(one.rows)}
                  </td>
                  <td class={one.bad_rows ? "number bad" : "number"} data-title="Bad">
                    {count(one.bad_rows)}
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
