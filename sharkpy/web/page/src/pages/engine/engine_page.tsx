/** The engine: memory and disks against their limits, queues, sessions, workers, settings, errors, and the log. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { ago, bytes, count, counted, percent, seconds } from "../../format";
import { LiveChart } from "../../parts/live_chart";
import { Empty, Failure, useNow, useTitle } from "../../parts/parts";
import { usePoll } from "../../parts/poll";
import { session } from "../../session";
import { askEngine, type Engine, type Sample } from "./api";
import { LogTail } from "./log_tail";
import "./engine.css";

const PERIOD = 2500;

export function EnginePage() {
  useTitle("Engine");
  const samples = useRef<Sample[]>([]);
  const { answer, error, again } = usePoll(async (signal) => {
    const found = await askEngine(samples.current, signal);
    samples.current = found.samples;
    return found;
  }, PERIOD);
  const who = session.value;
  return (
    <div class="page engine">
      <div class="page-head">
        <h1>Engine</h1>
        {answer && (
          <span class="muted">
            sharkpy {answer.version} · up {seconds(answer.uptime_seconds)} · {counted(answer.cores, "core")}
          </span>
        )}
        <div class="right">
          <span class={error ? "live lost" : "live on"}>{error ? "Reconnecting" : "Live"}</span>
        </div>
      </div>
      {error && <Failure error={error} onRetry={again} />}
      {answer && (
        <>
          <Meters engine={answer} />
          <Charts engine={answer} />
          <div class="columns">
            <Queues engine={answer} />
            <Sessions engine={answer} />
          </div>
          <div class="columns">
            <Errors engine={answer} />
            <WorkersPanel engine={answer} />
          </div>
          <Settings engine={answer} />
          {(who?.is_admin || !who?.needs_login) && <LogTail />}
        </>
      )}
    </div>
  );
}

function Meters({ engine }: { engine: Engine }) {
  const { memory, samples } = engine;
  const now = samples.at(-1);
  return (
    <div class="meters">
      <Meter title="Memory of the process" used={now?.process_bytes ?? null} limit={memory.process_limit_bytes}>
        of {bytes(memory.machine_bytes)} in the machine
      </Meter>
      <Meter title="Blocks in memory" used={now?.block_bytes ?? null} limit={memory.block_limit_bytes}>
        {counted(memory.num_blocks ?? 0, "block")}
        {memory.num_evicted ? ` · ${count(memory.num_evicted)} evicted` : ""}
        {now?.local_bytes ? ` · ${bytes(now.local_bytes)} on disk` : ""}
      </Meter>
      {engine.disks.map((disk) => (
        <Meter
          key={disk.path}
          title={disk.use === "shared memory" ? "Shared memory" : `Disk of ${disk.use}`}
          used={disk.total_bytes - disk.free_bytes}
          limit={disk.total_bytes}
        >
          <span title={disk.path}>{bytes(disk.free_bytes)} free</span>
        </Meter>
      ))}
    </div>
  );
}

function Meter(props: { title: string; used: number | null; limit: number | null; children: ComponentChildren }) {
  const { title, used, limit } = props;
  const share = used !== null && limit ? used / limit : 0;
  const tone = share > 0.95 ? "bad" : share > 0.8 ? "warn" : "";
  return (
    <div class={`card meter ${tone}`}>
      <h2>{title}</h2>
      <strong>
        {bytes(used)} <small>of {bytes(limit)}</small>
      </strong>
      <meter min={0} max={1} value={share} aria-label={title}>
        {percent(used ?? 0, limit ?? 0)}
      </meter>
      <p class="muted">{props.children}</p>
    </div>
  );
}

function Charts({ engine }: { engine: Engine }) {
  const { samples } = engine;
  const times = samples.map((sample) => Date.parse(sample.time) / 1000);
  return (
    <div class="live-charts">
      <LiveChart
        title="Memory"
        times={times}
        lines={[
          { label: "process", colour: "--accent", values: samples.map((one) => one.process_bytes), isFilled: true },
          { label: "blocks", colour: "--sql-number", values: samples.map((one) => one.block_bytes) },
        ]}
        text={bytes}
        isBytes
      />
      <LiveChart
        title="Cores in use by the process"
        times={times}
        lines={[{ label: "cores", colour: "--accent", values: samples.map((one) => one.cores), isFilled: true }]}
        text={(value) => (value === null ? "" : value.toFixed(value < 10 ? 1 : 0))}
        top={1}
      />
      <LiveChart
        title="Queries"
        times={times}
        lines={[
          { label: "running", colour: "--accent", values: samples.map((one) => one.running), isFilled: true },
          { label: "waiting", colour: "--warn", values: samples.map((one) => one.waiting) },
        ]}
        text={(value) => (value === null ? "" : count(value))}
        top={4}
      />
    </div>
  );
}

function Panel(props: { title: string; note?: string; children: ComponentChildren }) {
  return (
    <section class="card panel" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.note && <span class="muted">{props.note}</span>}
      </header>
      {props.children}
    </section>
  );
}

const LANES: Record<string, string> = { short: "Short", long: "Long", longest: "Longest" };

function Queues({ engine }: { engine: Engine }) {
  return (
    <Panel title="Queue and limits">
      <div class="table-frame">
        <table class="table plain">
          <thead>
            <tr>
              <th>Lane</th>
              <th class="number">Running</th>
              <th class="number">At once</th>
              <th class="number">Waiting</th>
            </tr>
          </thead>
          <tbody>
            {engine.lanes.map((lane) => (
              <tr key={lane.lane}>
                <td class="of-text">
                  {LANES[lane.lane] ?? lane.lane} queries
                  <span class="muted below">
                    {lane.pools.length
                      ? lane.pools.map((one) => `${one.pool}: ${one.running} run, ${one.waiting} wait`).join(" · ")
                      : lane.seconds === null
                        ? "what runs longer"
                        : `up to ${seconds(lane.seconds)}`}
                  </span>
                </td>
                <td class="number" data-title="Running">
                  {count(lane.running)}
                </td>
                <td class="number" data-title="At once">
                  {count(lane.limit)}
                </td>
                <td class={lane.waiting ? "number lags" : "number"} data-title="Waiting">
                  {count(lane.waiting)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <ul class="places">
        {engine.places.map((place) => (
          <li key={place.kind}>
            <span class="muted">{place.kind}</span>
            <span>
              {count(place.used)}
              {place.limit > 0 && <small class="muted"> of {count(place.limit)}</small>}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Sessions({ engine }: { engine: Engine }) {
  return (
    <Panel title="Sessions" note={session.value?.needs_login && !session.value.is_admin ? "your own" : ""}>
      {engine.sessions.length === 0 ? (
        <Empty icon="home" title="No session is open">
          <p>Clients of HiveServer2 and worksheets have sessions.</p>
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long list scrolls by the keyboard
        <section class="table-frame tall" aria-label="Open sessions" tabIndex={0}>
          <table class="table plain">
            <thead>
              <tr>
                <th>User</th>
                <th>Database</th>
                <th class="number">Running</th>
                <th class="number">Open</th>
                <th class="number">Idle</th>
              </tr>
            </thead>
            <tbody>
              {engine.sessions.map((one, place) => (
                <tr key={place}>
                  <td class="of-text">
                    {one.user}
                    <span class="muted below">{one.address}</span>
                  </td>
                  <td>{one.database}</td>
                  <td class="number" data-title="Running">
                    {count(one.running)}
                  </td>
                  <td class="number" data-title="Open">
                    {count(one.statements)}
                  </td>
                  <td class="number" data-title="Idle">
                    {seconds(Math.round(one.idle_seconds))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Panel>
  );
}

function Errors({ engine }: { engine: Engine }) {
  const now = useNow(10_000);
  return (
    <Panel title="Errors by kind" note="of the last 10,000 statements">
      {engine.errors.length === 0 ? (
        <Empty icon="check" title="No statement has failed" />
      ) : (
        <ul class="lines errors">
          {engine.errors.map((kind) => (
            <li key={kind.sqlstate_class}>
              <a href={`#/queries/${encodeURIComponent(kind.last_query_id)}`}>
                <span class="error-head">
                  <strong>{kind.meaning}</strong>
                  <code class="chip">{kind.sqlstate_class || "?"}</code>
                  <span class="amount">{count(kind.count)}</span>
                </span>
                <span class="facts">
                  <span class="last-error">{kind.last_message}</span>
                  <span class="when">{ago(kind.last_time, now)}</span>
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function WorkersPanel({ engine }: { engine: Engine }) {
  const { workers } = engine;
  return (
    <Panel title="Workers">
      <ul class="places">
        <li>
          <span class="muted">Spark</span>
          <span>{workers?.is_started ? "running" : "not started: queries run in this process"}</span>
        </li>
        {workers && (
          <>
            <li>
              <span class="muted">master</span>
              <code>{workers.master}</code>
            </li>
            <li>
              <span class="muted">tasks at once</span>
              <span>{count(workers.parallelism)}</span>
            </li>
            {workers.lost > 0 && (
              <li>
                <span class="muted">lost JVMs</span>
                <span class="bad">{count(workers.lost)}</span>
              </li>
            )}
            {workers.executors.map((one, place) => (
              <li key={place}>
                <span class="muted">{one.host}</span>
                <span>{counted(one.running_tasks, "task")}</span>
              </li>
            ))}
          </>
        )}
        <li>
          <span class="muted">warehouse</span>
          <code class="of-path">{engine.warehouse}</code>
        </li>
      </ul>
    </Panel>
  );
}

function Settings({ engine }: { engine: Engine }) {
  return (
    <Panel title="Settings that are not the default">
      {engine.settings.length === 0 ? (
        <Empty icon="check" title="All settings are the defaults">
          <p>
            <code>SET -v</code> lists them with their meaning.
          </p>
        </Empty>
      ) : (
        <div class="table-frame">
          <table class="table plain settings">
            <thead>
              <tr>
                <th>Setting</th>
                <th>Value</th>
                <th>Default</th>
              </tr>
            </thead>
            <tbody>
              {engine.settings.map((one) => (
                <tr key={one.key}>
                  <td class="of-text">
                    <code>{one.key}</code>
                    <span class="muted below">{one.meaning}</span>
                  </td>
                  <td class="of-value">
                    <code>{one.value}</code>
                  </td>
                  <td class="of-value muted">{one.default === null ? "—" : <code>{one.default || "empty"}</code>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
