/** One query: its text, its figures, and how it ran. */
import { useEffect, useState } from "preact/hooks";
import { api, isOver, type QueryWithProfile } from "../../api";
import { ago, fullTime } from "../../format";
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
  useNow,
  useTitle,
} from "../../parts/parts";
import { oneLineSql, SqlText } from "../../parts/sql_text";
import { copyText, sayError } from "../../parts/toasts";
import { go } from "../../router";
import { openInWorksheet } from "../../worksheets";
import { askToCancel } from "../queries/cancel";
import { shownSeconds } from "../queries/query_list";
import { Figures, ProfileTabs } from "./profile_view";

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
      <Figures query={query} total={shownSeconds(query, now)} loading={query.profile?.loading_seconds} />
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
        {isOver(query.state) && (
          <a class="button" href={`#/queries/${encodeURIComponent(query.query_id)}/compare`}>
            <Icon name="compare" size={14} /> Compare
          </a>
        )}
        <Downloads query={query} />
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

/** The profile as a file: HTML that any browser shows without the server, and JSON. */
function Downloads({ query }: { query: QueryWithProfile }) {
  if (!query.profile) return null;
  const name = `query-${query.query_id}`;
  const save = () =>
    api.profileFile(query.query_id).then((file) => download(`${name}.html`, [file], "text/html"), sayError);
  return (
    <>
      <button
        type="button"
        class="button"
        title="A file that shows this page anywhere, without the server"
        onClick={save}
      >
        <Icon name="download" size={14} /> HTML
      </button>
      <button
        type="button"
        class="button"
        onClick={() => download(`${name}.json`, [JSON.stringify(query.profile, null, 2)], "application/json")}
      >
        <Icon name="download" size={14} /> JSON
      </button>
    </>
  );
}

function Run({ query }: { query: QueryWithProfile }) {
  if (query.profile) return <ProfileTabs profile={query.profile} />;
  return isOver(query.state) ? (
    <Empty icon="chart" title="No profile of this query">
      <p>
        {query.error
          ? "It ended before it had a plan."
          : "It needed no plan, or its profile is no longer stored. Run it again from the worksheet to get one."}
      </p>
    </Empty>
  ) : (
    <Empty icon="turning" title="The plan appears when the query ends" />
  );
}
