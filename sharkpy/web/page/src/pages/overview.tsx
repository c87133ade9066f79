/** First page: what runs now, what failed, and what costs most. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, isOver, type Query, type Shape } from "../api";
import { ago, count, counted, seconds } from "../format";
import { onChangedQueries } from "../live";
import { Icon } from "../parts/icons";
import { doneShare, Empty, Failure, Live, ProgressBar, progressText, State, useNow, useTitle } from "../parts/parts";
import { SqlLine } from "../parts/sql_text";
import { session } from "../session";
import { shownSeconds } from "./queries/query_list";

const SHOWN = 6;

interface Facts {
  recent: Query[];
  active: Query[];
  failed: Query[];
  shapes: Shape[];
}

async function askFacts(signal: AbortSignal): Promise<Facts> {
  const day = new Date(Date.now() - 86_400_000).toISOString();
  const [recent, active, failed, shapes] = await Promise.all([
    api.queries(new URLSearchParams({ limit: "30" }), signal),
    api.queries(new URLSearchParams("state=queued&state=running&state=waiting&limit=50"), signal),
    api.queries(new URLSearchParams(`state=failed&state=timed_out&limit=${SHOWN}&since=${day}`), signal),
    api.shapes(signal),
  ]);
  return {
    recent: recent.queries.filter((query) => isOver(query.state)).slice(0, SHOWN),
    active: active.queries,
    failed: failed.queries,
    shapes,
  };
}

/** Facts of the page, asked for again when a query begins or ends, at most each two seconds. */
function useFacts() {
  const [facts, setFacts] = useState<Facts | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const ask = () => {
      timer = 0;
      askFacts(stop.signal).then(
        (found) => {
          setFacts(found);
          setError(null);
        },
        (failure: Error) => {
          if (!stop.signal.aborted) setError(failure);
        },
      );
    };
    ask();
    const active = new Set<string>();
    const leave = onChangedQueries((changed) => {
      const newer = new Map(changed.map((query) => [query.query_id, query]));
      setFacts(
        (shown) => shown && { ...shown, active: shown.active.map((query) => newer.get(query.query_id) ?? query) },
      );
      // Progress alone changes none of the lists.
      if (changed.some((query) => isOver(query.state) || !active.has(query.query_id)))
        timer ||= window.setTimeout(ask, 2000);
      for (const query of changed) isOver(query.state) ? active.delete(query.query_id) : active.add(query.query_id);
    });
    return () => {
      leave();
      stop.abort();
      clearTimeout(timer);
    };
  }, []);
  return { facts, error };
}

export function OverviewPage() {
  useTitle("Overview");
  const { facts, error } = useFacts();
  const now = useNow(1000);
  const active = facts?.active.filter((query) => !isOver(query.state)) ?? [];
  const running = active.filter((query) => query.state !== "queued").length;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Overview</h1>
        <div class="right">
          <Live />
          <a class="button primary" href="#/worksheet">
            <Icon name="worksheet" size={15} /> New query
          </a>
        </div>
      </div>
      {error && <Failure error={error} />}
      {facts && (
        <>
          <div class="tiles">
            <Tile href="#/queries?state=active" title="Running" value={count(running)} tone={running ? "accent" : ""} />
            <Tile href="#/queries?state=active" title="Queued" value={count(active.length - running)} />
            <Tile
              href="#/queries?state=failed&span=24h"
              title="Failed in 24 hours"
              value={facts.failed.length === SHOWN ? `${SHOWN}+` : count(facts.failed.length)}
              tone={facts.failed.length ? "bad" : ""}
            />
            <Tile
              href="#/queries"
              title="Last query"
              value={facts.recent[0] ? ago(facts.recent[0].started, now) : "—"}
            />
          </div>
          {active.length > 0 && (
            <Panel title="Running now" more="#/queries?state=active">
              <ul class="lines">
                {active.slice(0, SHOWN).map((query) => (
                  <Line key={query.query_id} query={query} now={now} />
                ))}
              </ul>
            </Panel>
          )}
          <div class="columns">
            <Panel title="Recent" more="#/queries">
              {facts.recent.length ? (
                <ul class="lines">
                  {facts.recent.map((query) => (
                    <Line key={query.query_id} query={query} now={now} />
                  ))}
                </ul>
              ) : (
                <Empty icon="worksheet" title="No queries yet">
                  <p>The tables of {session.value?.warehouse ?? "the warehouse"} wait for a first question.</p>
                  <a class="button" href="#/worksheet">
                    Open the worksheet
                  </a>
                </Empty>
              )}
            </Panel>
            <Panel title="Most expensive" more="#/queries?tab=expensive">
              {facts.shapes.length ? (
                <ul class="lines">
                  {facts.shapes
                    .toSorted((a, b) => b.total_seconds - a.total_seconds)
                    .slice(0, SHOWN)
                    .map((shape) => (
                      <li key={shape.shape}>
                        <a href={`#/queries/${encodeURIComponent(shape.example_id)}`}>
                          <SqlLine text={shape.shape} />
                          <span class="facts">
                            <strong>{seconds(shape.total_seconds)}</strong> in {counted(shape.count, "run")}
                          </span>
                        </a>
                      </li>
                    ))}
                </ul>
              ) : (
                <Empty icon="chart" title="Nothing to compare yet">
                  <p>Ended queries are grouped here by their text without literals.</p>
                </Empty>
              )}
            </Panel>
          </div>
        </>
      )}
    </div>
  );
}

function Tile(props: { title: string; value: string; href: string; tone?: string }) {
  return (
    <a class={`card tile ${props.tone ?? ""}`} href={props.href}>
      <span>{props.title}</span>
      <strong>{props.value}</strong>
    </a>
  );
}

function Panel(props: { title: string; more: string; children: ComponentChildren }) {
  return (
    <section class="card panel" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        <a href={props.more}>Show all</a>
      </header>
      {props.children}
    </section>
  );
}

function Line({ query, now }: { query: Query; now: number }) {
  const isActive = !isOver(query.state);
  const progress = progressText(query.progress, shownSeconds(query, now));
  return (
    <li>
      <a href={`#/queries/${encodeURIComponent(query.query_id)}`}>
        <SqlLine text={query.text} />
        <span class="facts">
          <State state={query.state} />
          <span>{seconds(shownSeconds(query, now))}</span>
          <span>{query.user}</span>
          <span class="when">{isActive ? progress : ago(query.started, now)}</span>
        </span>
        {query.state === "running" && <ProgressBar share={doneShare(query.progress)} />}
      </a>
    </li>
  );
}
