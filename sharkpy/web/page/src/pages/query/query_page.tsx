/** One query: its text, its figures, and how it ran. */
import { useEffect, useState } from "preact/hooks";
import { api, isOver, type Query, type QueryWithProfile } from "../../api";
import { ago, bytes, count, fullTime, percent, seconds, shortCount } from "../../format";
import { onChangedQueries } from "../../live";
import { Icon } from "../../parts/icons";
import {
  doneShare,
  download,
  Empty,
  Failure,
  ProgressBar,
  progressText,
  State,
  Tabs,
  useNow,
  useTitle,
} from "../../parts/parts";
import { oneLineSql, SqlText } from "../../parts/sql_text";
import { copyText } from "../../parts/toasts";
import { go, place, replaceParameters } from "../../router";
import { openInWorksheet } from "../../worksheets";
import { askToCancel } from "../queries/cancel";
import { shownSeconds } from "../queries/query_list";
import { DecisionsView } from "./decisions_view";
import { PlanView } from "./plan_view";
import { StagesView } from "./stages_view";
import "../../styles/query.css";

type Tab = "plan" | "stages" | "decisions";

/** The query, kept up to date while it runs, and asked for again when it ends. */
function useQuery(id: string) {
  const [query, setQuery] = useState<QueryWithProfile | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round asks again
  useEffect(() => {
    const stop = new AbortController();
    api.query(id, stop.signal).then(setQuery, (failure: Error) => {
      if (!stop.signal.aborted) setError(failure);
    });
    return () => stop.abort();
  }, [id, round]);
  const isActive = query !== null && !isOver(query.state);
  useEffect(() => {
    if (!isActive) return;
    return onChangedQueries((changed) => {
      const newer = changed.find((one) => one.query_id === id);
      if (!newer) return;
      setQuery((shown) => shown && { ...shown, ...newer });
      if (isOver(newer.state)) setRound((last) => last + 1);
    });
  }, [id, isActive]);
  return { query, error };
}

export function QueryPage({ id }: { id: string }) {
  const { query, error } = useQuery(id);
  useTitle(query ? oneLineSql(query.text).slice(0, 60) : "Query");
  const now = useNow(query && !isOver(query.state) ? 250 : 10_000);
  if (error && !query) {
    return (
      <div class="page">
        {"status" in error && error.status === 404 ? (
          <Empty icon="search" title="There is no such query">
            <p>It belongs to another user, or the history has forgotten it.</p>
            <a class="button" href="#/queries">
              Show all queries
            </a>
          </Empty>
        ) : (
          <Failure error={error} />
        )}
      </div>
    );
  }
  if (!query) return null;
  return (
    <div class="page">
      <Head query={query} now={now} />
      {!isOver(query.state) && (
        <div class="card running-now">
          {query.state !== "queued" && <ProgressBar share={doneShare(query.progress)} large />}
          <span class="muted">{progressText(query.progress, shownSeconds(query, now)) || "It has no tasks yet."}</span>
        </div>
      )}
      {query.error && (
        <div class="notice bad" role="alert">
          <strong>{query.error.message}</strong>
          {query.error.hint && <span>{query.error.hint}</span>}
          {query.error.sqlstate && <span class="mono">SQLSTATE {query.error.sqlstate}</span>}
        </div>
      )}
      <Figures query={query} now={now} />
      <SqlText text={query.text} error={query.error} />
      <Run query={query} />
    </div>
  );
}

function Head({ query, now }: { query: QueryWithProfile; now: number }) {
  return (
    <div class="page-head query-head">
      <a class="button quiet small icon" href="#/queries" aria-label="All queries">
        <Icon name="left" size={14} />
      </a>
      <h1>Query</h1>
      <State state={query.state} />
      <span class="muted facts-line">
        <span>{query.user || "anonymous"}</span>
        <span title={fullTime(query.started)}>{ago(query.started, now)}</span>
        {query.tag && <span class="chip">{query.tag}</span>}
        <code>{query.query_id}</code>
      </span>
      <div class="right">
        {!isOver(query.state) && (
          <button type="button" class="button danger" onClick={() => askToCancel(query)}>
            <Icon name="stop" size={14} /> Cancel
          </button>
        )}
        <button type="button" class="button" onClick={() => copyText(location.href, "Link")}>
          <Icon name="link" size={14} /> Copy link
        </button>
        <button
          type="button"
          class="button"
          onClick={() =>
            download(
              `query-${query.query_id}.json`,
              [JSON.stringify(query.profile ?? query, null, 2)],
              "application/json",
            )
          }
        >
          <Icon name="download" size={14} /> JSON
        </button>
        <button
          type="button"
          class="button primary"
          onClick={() => {
            openInWorksheet(query.text);
            go("/worksheet");
          }}
        >
          <Icon name="worksheet" size={14} /> Open in worksheet
        </button>
      </div>
    </div>
  );
}

function Figures({ query, now }: { query: Query; now: number }) {
  const total = shownSeconds(query, now);
  const parts = [
    { name: "planning", value: query.planning_seconds },
    { name: "queued", value: query.queued_seconds },
    { name: "running", value: query.running_seconds },
  ];
  const known = parts.reduce((sum, part) => sum + (part.value ?? 0), 0);
  const returned = query.rows_returned;
  return (
    <section class="figures" aria-label="Figures">
      <div class="card figure">
        <h2>Time</h2>
        <strong>{seconds(total)}</strong>
        <span class="stack" aria-hidden="true">
          {known > 0 &&
            parts.map((part) => (
              <i key={part.name} class={part.name} style={{ flexGrow: (part.value ?? 0) / known }} />
            ))}
        </span>
        <ul>
          {parts.map((part) => (
            <li key={part.name}>
              <i class={part.name} aria-hidden="true" /> {part.name} <b>{seconds(part.value)}</b>
            </li>
          ))}
        </ul>
      </div>
      <div class="card figure">
        <h2>Rows</h2>
        <strong>
          {shortCount(query.rows_read ?? returned)}{" "}
          <small>{query.rows_read == null && returned != null ? "returned" : "read"}</small>
        </strong>
        <span class="stack" aria-hidden="true">
          {query.rows_read && returned != null && (
            <>
              <i class="running" style={{ flexGrow: Math.min(1, returned / query.rows_read) }} />
              <i style={{ flexGrow: Math.max(0, 1 - returned / query.rows_read) }} />
            </>
          )}
        </span>
        <ul>
          <li>
            returned <b>{count(query.rows_returned)}</b>
          </li>
          {Boolean(query.rows_written) && (
            <li>
              written <b>{count(query.rows_written)}</b>
            </li>
          )}
          <li>
            bytes read <b>{bytes(query.bytes_read)}</b>
          </li>
          {query.blocks_pruned != null && query.blocks_read != null && (
            <li>
              blocks pruned <b>{percent(query.blocks_pruned, query.blocks_pruned + query.blocks_read)}</b>
            </li>
          )}
        </ul>
      </div>
      <div class={query.bytes_spilled ? "card figure warned" : "card figure"}>
        <h2>Spilled</h2>
        <strong>{query.bytes_spilled === 0 ? "Nothing" : bytes(query.bytes_spilled)}</strong>
        <span class="stack" />
        <ul>
          <li>
            peak memory <b>{bytes(query.peak_bytes)}</b>
          </li>
          <li>
            CPU <b>{seconds(query.cpu_seconds)}</b>
          </li>
        </ul>
      </div>
    </section>
  );
}

function Run({ query }: { query: QueryWithProfile }) {
  const { profile } = query;
  const { parameters } = place.value;
  const asked = parameters.get("tab");
  const tab: Tab = asked === "stages" || asked === "decisions" ? asked : "plan";
  const operator = parameters.get("operator");
  const set = (name: string, value: string | null) => {
    const next = new URLSearchParams(parameters);
    if (value === null) next.delete(name);
    else next.set(name, value);
    replaceParameters(next);
  };
  if (!profile) {
    return isOver(query.state) ? (
      <Empty icon="chart" title="No profile of this query">
        <p>Profiles of older queries are not stored. Run it again from the worksheet to get one.</p>
      </Empty>
    ) : (
      <Empty icon="turning" title="The plan appears when the query ends" />
    );
  }
  return (
    <>
      <Tabs<Tab>
        label="How the query ran"
        chosen={tab}
        onChoose={(name) => set("tab", name === "plan" ? null : name)}
        tabs={[
          { name: "plan", text: "Plan", amount: profile.operators.length },
          { name: "stages", text: "Stages", amount: profile.stages.length },
          { name: "decisions", text: "Decisions", amount: profile.decisions.length },
        ]}
      />
      {tab === "plan" && (
        <PlanView
          profile={profile}
          chosen={operator === null ? null : Number(operator)}
          onChoose={(id) => set("operator", id === null ? null : String(id))}
        />
      )}
      {tab === "stages" && <StagesView stages={profile.stages} />}
      {tab === "decisions" && <DecisionsView decisions={profile.decisions} />}
    </>
  );
}
