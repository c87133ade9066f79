/** Filters of the list of queries, as parameters of the page's address and of the API. */
import { isOver, type Query, type QueryState } from "../../api";

export const STATE_GROUPS = {
  active: ["queued", "running", "waiting"],
  finished: ["finished", "closed"],
  failed: ["failed", "timed_out"],
  cancelled: ["cancelled"],
} as const satisfies Record<string, readonly QueryState[]>;
export type StateGroup = keyof typeof STATE_GROUPS;

export const SORTS = [
  "started",
  "seconds",
  "rows_read",
  "rows_returned",
  "bytes_read",
  "cpu_seconds",
  "peak_bytes",
] as const;
export type Sort = (typeof SORTS)[number];

/** Spans of time before now, in seconds. */
export const SPANS = { "15m": 900, "1h": 3600, "24h": 86_400, "7d": 604_800 } as const;
export type Span = keyof typeof SPANS;

export interface Filters {
  state: StateGroup | null;
  user: string;
  text: string;
  span: Span | null;
  since: string;
  until: string;
  sort: Sort;
  descending: boolean;
  cursor: string | null;
}

export function readFilters(parameters: URLSearchParams): Filters {
  const state = parameters.get("state") ?? "";
  const span = parameters.get("span") ?? "";
  const sort = parameters.get("sort") as Sort;
  return {
    state: Object.hasOwn(STATE_GROUPS, state) ? (state as StateGroup) : null,
    user: parameters.get("user") ?? "",
    text: parameters.get("text") ?? "",
    span: Object.hasOwn(SPANS, span) ? (span as Span) : null,
    since: parameters.get("since") ?? "",
    until: parameters.get("until") ?? "",
    sort: SORTS.includes(sort) ? sort : "started",
    descending: parameters.get("descending") !== "false",
    cursor: parameters.get("cursor"),
  };
}

/** Parameters of the page's address. What is as usual is left out. */
export function writeFilters(filters: Filters): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of ["state", "user", "text", "span", "since", "until"] as const) {
    const value = filters[name];
    if (value) parameters.set(name, value);
  }
  if (filters.sort !== "started") parameters.set("sort", filters.sort);
  if (!filters.descending) parameters.set("descending", "false");
  if (filters.cursor) parameters.set("cursor", filters.cursor);
  return parameters;
}

export const PAGE_SIZE = 50;

/** Parameters of `GET /api/v1/queries`. */
export function apiParameters(filters: Filters, now: number): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const state of filters.state ? STATE_GROUPS[filters.state] : []) parameters.append("state", state);
  if (filters.user.trim()) parameters.set("user", filters.user.trim());
  if (filters.text.trim()) parameters.set("text", filters.text.trim());
  const since = filters.span ? new Date(now - 1000 * SPANS[filters.span]).toISOString() : utc(filters.since);
  const until = filters.span ? null : utc(filters.until);
  if (since) parameters.set("since", since);
  if (until) parameters.set("until", until);
  parameters.set("sort", filters.sort);
  parameters.set("descending", String(filters.descending));
  parameters.set("limit", String(PAGE_SIZE));
  if (filters.cursor) parameters.set("cursor", filters.cursor);
  return parameters;
}

/** A local time of an input, as ISO 8601 in UTC. */
function utc(local: string): string | null {
  const time = new Date(local);
  return local && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
}

export function hasFilter(filters: Filters): boolean {
  return Boolean(filters.state || filters.user || filters.text || filters.span || filters.since || filters.until);
}

function fits(query: Query, filters: Filters): boolean {
  if (filters.state && !(STATE_GROUPS[filters.state] as readonly QueryState[]).includes(query.state)) return false;
  if (filters.user.trim() && query.user !== filters.user.trim()) return false;
  if (!query.text.toLowerCase().includes(filters.text.trim().toLowerCase())) return false;
  return !filters.since && !filters.until;
}

/** Put changed queries into a list. New ones come first, if the list shows the newest; else they wait for a reload. */
export function mergeChanged(shown: Query[], changed: Query[], filters: Filters): Query[] {
  const byId = new Map(changed.map((query) => [query.query_id, query]));
  const merged = shown.map((query) => {
    const newer = byId.get(query.query_id);
    byId.delete(query.query_id);
    // An event may come after the answer that shows the end.
    return newer && !(isOver(query.state) && !isOver(newer.state)) ? newer : query;
  });
  if (filters.sort !== "started" || !filters.descending || filters.cursor) return merged;
  const newest = shown[0]?.started ?? "";
  const added = [...byId.values()].filter((query) => fits(query, filters) && query.started >= newest);
  added.sort((a, b) => (a.started < b.started ? 1 : -1));
  return added.length ? [...added, ...merged].slice(0, Math.max(PAGE_SIZE, shown.length)) : merged;
}
