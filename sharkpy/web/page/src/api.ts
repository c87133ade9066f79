/** Types of the server's JSON API, and its client. Times are ISO 8601 in UTC, sizes bytes, durations seconds. */

/** `waiting`: idle until its reader asks for more rows. `closed`: its reader closed it before the last row. */
export type QueryState =
  | "queued"
  | "running"
  | "waiting"
  | "finished"
  | "failed"
  | "cancelled"
  | "timed_out"
  | "closed";

export interface Session {
  user: string;
  is_admin: boolean;
  needs_login: boolean;
  csrf_token: string | null;
  version: string;
  warehouse: string;
}

export interface SqlError {
  message: string;
  sqlstate: string | null;
  line: number | null;
  column: number | null;
  hint: string | null;
}

/** `stage`: the operator on top of the running stage. */
export interface Progress {
  stage: string;
  stages_done: number;
  tasks_done: number;
  tasks_total: number;
  rows_read: number;
  /** Queries before it while it waits for its turn. */
  queued_behind: number | null;
}

/** Figures of a statement. Figures that were not measured are null. */
export interface StatementFigures {
  seconds: number | null;
  queued_seconds: number | null;
  planning_seconds: number | null;
  running_seconds: number | null;
  rows_read: number | null;
  rows_returned: number | null;
  rows_written: number | null;
  bytes_read: number | null;
  bytes_spilled: number | null;
  cpu_seconds: number | null;
  peak_bytes: number | null;
  blocks_read: number | null;
  blocks_pruned: number | null;
}

export interface Query extends StatementFigures {
  query_id: string;
  state: QueryState;
  kind: string | null;
  text: string;
  user: string | null;
  session: string | null;
  tag: string | null;
  started: string;
  progress: Progress | null;
  error: SqlError | null;
}

export interface Operator {
  id: number;
  stage: number | null;
  children: number[];
  kind: string;
  label: string;
  rows: number | null;
  bytes: number | null;
  seconds: number | null;
  blocks_read: number | null;
  blocks_pruned: number | null;
  notes: string[];
}

export interface Stage {
  number: number;
  label: string;
  placement: "driver" | "rdd";
  tasks: number | null;
  rows_in: number | null;
  rows_out: number | null;
  bytes_out: number | null;
  started: string | number | null;
  seconds: number | null;
  task_seconds: number | null;
  exchange: string | null;
  bucket_bytes: number[] | null;
  cpu_seconds_per_task: number[] | null;
  rows_per_task: number[] | null;
  blocks_rebuilt: number | null;
  requests: number | null;
  /** Failed runs, after which lost blocks or workers were replaced. */
  repairs: number;
  /** Workers that ran its tasks. The lists below are in task order, or empty if they are not known. */
  workers: string[];
  /** Places in `workers`. */
  worker_per_task: number[];
  /** Seconds after the start of the stage. */
  started_per_task: number[];
  seconds_per_task: number[];
  /** Runs that were lost before; empty if no task ran again. */
  attempts_per_task: number[];
  spilled_per_task: (number | null)[];
}

/** Load of a table's blocks from its files, for which the query waited. */
export interface TableLoad {
  table: string;
  started: string;
  seconds: number;
  blocks: number;
}

export interface Decision {
  when: "planning" | "run time";
  text: string;
  figures: Record<string, number | string>;
}

export interface Profile extends StatementFigures {
  version: 1;
  query_id: string;
  text: string;
  user: string;
  started: string;
  /** Seconds in which tables were loaded. Profiles of earlier versions have no loads. */
  loading_seconds?: number;
  loads?: TableLoad[];
  root: number | null;
  operators: Operator[];
  stages: Stage[];
  decisions: Decision[];
  error: SqlError | null;
}

export type QueryWithProfile = Query & { profile: Profile | null };

export interface Shape {
  shape: string;
  example_id: string;
  count: number;
  total_seconds: number;
  p50_seconds: number;
  p99_seconds: number;
}

export interface QueryPage {
  queries: Query[];
  next: string | null;
}

/** Answer of the server that is not a success. `status` is 0 if the server did not answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly error: SqlError,
  ) {
    super(error.message);
    this.name = "ApiError";
  }
}

let csrfToken: string | null = null;
let onLoggedOut: (error: ApiError) => void = () => {};

/** Call `listener` when a request finds that the login has ended. */
export function whenLoggedOut(listener: (error: ApiError) => void): void {
  onLoggedOut = listener;
}

/** Address of a resource of the server, which may have a path of its own at a proxy. */
export function addressOf(path: string): string {
  return new URL(path, document.baseURI).href;
}

/** Headers of a request that changes something. */
export function postHeaders(): Record<string, string> {
  return { "Content-Type": "application/json", ...(csrfToken ? { "X-CSRF-Token": csrfToken } : {}) };
}

export async function errorOf(response: Response): Promise<ApiError> {
  const plain: SqlError = {
    message: `The server answered ${response.status} ${response.statusText}`.trim(),
    sqlstate: null,
    line: null,
    column: null,
    hint: null,
  };
  try {
    const body = (await response.json()) as { error?: Partial<SqlError> };
    return new ApiError(response.status, { ...plain, ...body.error });
  } catch {
    return new ApiError(response.status, plain);
  }
}

/** Send a request, and raise ApiError unless the answer is a success, or tells that nothing has changed. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(addressOf(path), { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, {
      message: "The server cannot be reached",
      sqlstate: null,
      line: null,
      column: null,
      hint: "Check that it runs, then try again.",
    });
  }
  if (response.ok || response.status === 304) return response;
  const error = await errorOf(response);
  if (response.status === 401 && !path.endsWith("/login")) onLoggedOut(error);
  throw error;
}

async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return (await (await send(path, signal ? { signal } : {})).json()) as Answer;
}

function remember(session: Session): Session {
  csrfToken = session.csrf_token;
  return session;
}

export const api = {
  async session(): Promise<Session> {
    return remember(await get<Session>("api/v1/session"));
  },
  async login(user: string, password: string): Promise<Session> {
    const response = await send("api/v1/login", {
      method: "POST",
      headers: postHeaders(),
      body: JSON.stringify({ user, password }),
    });
    return remember((await response.json()) as Session);
  },
  async logout(): Promise<void> {
    await send("api/v1/logout", { method: "POST", headers: postHeaders(), body: "{}" });
    csrfToken = null;
  },
  queries(parameters: URLSearchParams, signal?: AbortSignal): Promise<QueryPage> {
    return get<QueryPage>(`api/v1/queries?${parameters}`, signal);
  },
  query(id: string, signal?: AbortSignal): Promise<QueryWithProfile> {
    return get<QueryWithProfile>(`api/v1/queries/${encodeURIComponent(id)}`, signal);
  },
  /** The profile of a query as an HTML file of its own. */
  async profileFile(id: string): Promise<Blob> {
    return await (await send(`api/v1/queries/${encodeURIComponent(id)}/profile.html`)).blob();
  },
  async cancel(id: string): Promise<void> {
    await send(`api/v1/queries/${encodeURIComponent(id)}/cancel`, {
      method: "POST",
      headers: postHeaders(),
      body: "{}",
    });
  },
  async shapes(signal?: AbortSignal): Promise<Shape[]> {
    return (await get<{ shapes: Shape[] }>("api/v1/shapes", signal)).shapes;
  },
};

export function isOver(state: QueryState): boolean {
  return state !== "queued" && state !== "running" && state !== "waiting";
}
