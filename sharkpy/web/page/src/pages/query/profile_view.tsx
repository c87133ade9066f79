/** Figures of a query, and how it ran. The page of a query and the file of a profile show the same. */
import type { Profile, Query } from "../../api";
import { bytes, count, percent, seconds, shortCount } from "../../format";
import { Tabs } from "../../parts/parts";
import { place, replaceParameters } from "../../router";
import { DecisionsView } from "./decisions_view";
import { PlanView } from "./plan_view";
import { StagesView } from "./stages_view";
import "../../styles/query.css";

type Tab = "plan" | "stages" | "decisions";

export type Figured = Pick<
  Query,
  | "planning_seconds"
  | "queued_seconds"
  | "running_seconds"
  | "rows_read"
  | "rows_returned"
  | "rows_written"
  | "bytes_read"
  | "bytes_spilled"
  | "blocks_read"
  | "blocks_pruned"
  | "peak_bytes"
  | "cpu_seconds"
>;

function memoryText(query: Figured): string {
  if (query.bytes_spilled != null) return "spilled";
  return query.peak_bytes == null ? "not measured" : "at its peak";
}

export function Figures(props: { query: Figured; total: number | null; loading: number | undefined }) {
  const { query, total, loading = 0 } = props;
  const parts = [
    { name: "planning", value: query.planning_seconds },
    ...(loading > 0 ? [{ name: "loading", value: loading }] : []),
    { name: "queued", value: query.queued_seconds },
    // The server counts planning and loading as parts of the time at work.
    {
      name: "running",
      value: query.running_seconds && Math.max(0, query.running_seconds - (query.planning_seconds ?? 0) - loading),
    },
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
          {query.rows_read != null && query.rows_read > 0 && returned != null && (
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
        <h2>Memory</h2>
        <strong>
          {bytes(query.bytes_spilled ?? query.peak_bytes)} <small>{memoryText(query)}</small>
        </strong>
        <span class="stack" />
        <ul>
          {query.bytes_spilled != null && (
            <li>
              peak memory <b>{bytes(query.peak_bytes)}</b>
            </li>
          )}
          <li>
            CPU <b>{seconds(query.cpu_seconds)}</b>
          </li>
        </ul>
      </div>
    </section>
  );
}

/** How the query ran: its plan, stages and decisions. The chosen view is in the address. */
export function ProfileTabs({ profile }: { profile: Profile }) {
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
      {tab === "stages" && <StagesView stages={profile.stages} loads={profile.loads ?? []} />}
      {tab === "decisions" && <DecisionsView decisions={profile.decisions} />}
    </>
  );
}
