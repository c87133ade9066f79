/**
 * Vite plugin that answers the page's API with invented data, for development and tests. It is not shipped.
 *
 * Cookies change what it answers: `login=1` needs a login (password "shark"), `hostile=1` fills all texts with markup,
 * `empty=1` is a new server, `link=1` one that is opened by links.
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Connect, Plugin } from "vite";
import { isOver, type Query, type QueryState } from "../src/api.ts";
import type { Streams } from "../src/pages/streams/api.ts";
import { HOSTILE, makeLargeProfile, makeProfile, makeQueries, makeShapes } from "./data.ts";
import { makeEngine, makeLog } from "./engine.ts";
import { answerStatement } from "./statements.ts";
import { control, makeStream, makeStreams } from "./streams.ts";
import { answerTables, sendTables } from "./tables.ts";

const PROFILE_PAGE = new URL("../../static/profile.html", import.meta.url);

/** Content policy of the server. The page must work under it. */
export const CONTENT_POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const worlds = new Map<string, Query[]>();
const loggedIn = new Set<string>();

function queriesOf(request: IncomingMessage): Query[] {
  const cookies = request.headers.cookie ?? "";
  if (cookies.includes("empty=1")) return [];
  const name = cookies.includes("hostile=1") ? "hostile" : "usual";
  const found = worlds.get(name) ?? makeQueries(400, Date.now(), name === "hostile");
  worlds.set(name, found);
  return found;
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  response.end(status === 204 ? undefined : JSON.stringify(value));
}

function refuse(response: ServerResponse, status: number, message: string, hint: string | null = null): void {
  json(response, { error: { message, sqlstate: null, line: null, column: null, hint } }, status);
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text || "{}") as Record<string, unknown>;
}

function sessionOf(request: IncomingMessage) {
  const cookies = request.headers.cookie ?? "";
  return {
    user: cookies.includes("hostile=1") ? HOSTILE : "ada",
    is_admin: true,
    needs_login: cookies.includes("login=1"),
    csrf_token: "token",
    version: "0.1.0",
    warehouse: "/data/warehouse",
  };
}

function listed(queries: Query[], asked: URLSearchParams) {
  const states = asked.getAll("state");
  const text = (asked.get("text") ?? "").toLowerCase();
  const since = asked.get("since") ?? "";
  const until = asked.get("until") ?? "9";
  const sort = (asked.get("sort") ?? "started") as keyof Query;
  const sign = asked.get("descending") === "false" ? 1 : -1;
  const fitting = queries
    .filter((query) => !states.length || states.includes(query.state))
    .filter((query) => !asked.get("user") || query.user === asked.get("user"))
    .filter((query) => query.text.toLowerCase().includes(text) && query.started >= since && query.started <= until)
    .sort((a, b) => sign * ((a[sort] ?? 0) < (b[sort] ?? 0) ? -1 : 1));
  const from = Number(asked.get("cursor") ?? 0);
  const to = from + Number(asked.get("limit") ?? 50);
  return { queries: fitting.slice(from, to), next: to < fitting.length ? String(to) : null };
}

/** Let running queries get on, and return the changed ones. */
function tick(queries: Query[]): Query[] {
  const changed = queries.filter((query) => !isOver(query.state));
  for (const query of changed) {
    const progress = query.progress;
    if (!progress || query.state !== "running") continue;
    progress.rows_read = Math.floor((progress.rows_read ?? 0) * 1.02);
    progress.tasks_done = Math.min(
      (progress.tasks_total ?? 1) - 1,
      (progress.tasks_done ?? 0) + (Math.random() < 0.2 ? 1 : 0),
    );
  }
  return changed;
}

function events(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const timer = setInterval(() => {
    const changed = tick(queriesOf(request));
    response.write(changed.length ? `event: queries\ndata: ${JSON.stringify(changed)}\n\n` : ": heartbeat\n\n");
  }, 500);
  request.on("close", () => clearInterval(timer));
}

function sendQuery(request: IncomingMessage, response: ServerResponse, id: string) {
  const query = queriesOf(request).find((candidate) => candidate.query_id === id) ?? queriesOf(request)[6];
  if (!query || id === "missing") return refuse(response, 404, `there is no query "${id}"`);
  const isHostile = (request.headers.cookie ?? "").includes("hostile=1");
  const profile =
    id === "large" ? makeLargeProfile(query, 500) : isOver(query.state) ? makeProfile(query, isHostile) : null;
  json(response, { ...query, profile });
}

/** The file that the server makes: `profile.html` of the build, with the profile in it. */
function sendProfileFile(request: IncomingMessage, response: ServerResponse, id: string) {
  const query = queriesOf(request).find((candidate) => candidate.query_id === id);
  if (!query) return refuse(response, 404, `there is no query "${id}"`);
  const isHostile = (request.headers.cookie ?? "").includes("hostile=1");
  const profile = JSON.stringify(makeProfile(query, isHostile)).replace(/[<>&\u2028\u2029]/g, (one) => {
    return `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  response.setHeader("Content-Type", "text/html");
  response.end(readFileSync(PROFILE_PAGE, "utf8").replace('id="profile">', (place) => place + profile));
}

function cancel(request: IncomingMessage, response: ServerResponse, id: string) {
  const query = queriesOf(request).find((candidate) => candidate.query_id === id);
  if (!query) return refuse(response, 404, `there is no query "${id}"`);
  if (isOver(query.state)) return refuse(response, 409, "the query is over");
  Object.assign(query, { state: "cancelled" satisfies QueryState, seconds: 4.2, progress: null });
  json(response, null, 204);
}

const streams = new Map<string, Streams>();

function streamsOf(cookies: string): Streams {
  if (cookies.includes("empty=1")) return { nodes: [], edges: [] };
  const name = cookies.includes("hostile=1") ? "hostile" : "usual";
  const found = streams.get(name) ?? makeStreams(name === "hostile");
  streams.set(name, found);
  return found;
}

function sendStream(response: ServerResponse, cookies: string, name: string) {
  const found = makeStream(streamsOf(cookies), name, Date.now());
  if (!found) return refuse(response, 404, `there is no stream "${name}"`);
  json(response, found);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
  isBuilt: boolean,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://mock");
  const cookies = request.headers.cookie ?? "";
  const [, name = "", id = "", action = ""] = /^\/api\/v1\/([^/]+)\/?([^/]*)\/?([^/]*)/.exec(url.pathname) ?? [];
  if (isBuilt) response.setHeader("Content-Security-Policy", CONTENT_POLICY);
  if (!name && !url.pathname.startsWith("/v1/")) return next();
  if (request.method === "POST" && name !== "login" && request.headers["x-csrf-token"] !== "token") {
    return refuse(response, 403, "the request has not the login's X-CSRF-Token");
  }
  if (name === "login") {
    const given = await bodyOf(request);
    if (given.password !== "shark") return refuse(response, 401, "wrong user or password");
    loggedIn.add("reader");
    return json(response, sessionOf(request));
  }
  if (cookies.includes("link=1")) {
    return refuse(
      response,
      401,
      "this server needs a login",
      "press Enter in the terminal of sharkpy console, and follow the new link",
    );
  }
  if (cookies.includes("login=1") && !loggedIn.has("reader")) return refuse(response, 401, "log in first");
  if (url.pathname === "/v1/sql") {
    const body = await bodyOf(request);
    if (control(streamsOf(cookies), String(body.statement))) body.statement = "SELECT 1 LIMIT 1";
    return answerStatement(body, request, response, cookies.includes("hostile=1"));
  }
  if (url.pathname === "/v1/sessions") return json(response, { session_id: "s-1", user: "ada" }, 201);
  if (url.pathname.startsWith("/v1/sessions/")) return json(response, null, 204);
  if (name === "logout") {
    loggedIn.clear();
    return json(response, null, 204);
  }
  if (name === "session") return json(response, sessionOf(request));
  if (name === "shapes")
    return json(response, { shapes: makeShapes(queriesOf(request).filter((query) => isOver(query.state))) });
  if (name === "events") return events(request, response);
  const ofTables = answerTables(url, {
    isHostile: cookies.includes("hostile=1"),
    isEmpty: cookies.includes("empty=1"),
  });
  if (ofTables !== undefined) return sendTables(response, ofTables);
  if (name === "queries" && action === "cancel") return cancel(request, response, decodeURIComponent(id));
  if (name === "queries" && action === "profile.html")
    return sendProfileFile(request, response, decodeURIComponent(id));
  if (name === "queries" && id) return sendQuery(request, response, decodeURIComponent(id));
  if (name === "queries") return json(response, listed(queriesOf(request), url.searchParams));
  if (name === "streams" && id) return sendStream(response, cookies, decodeURIComponent(id));
  if (name === "streams") return json(response, streamsOf(cookies));
  const isHostile = cookies.includes("hostile=1");
  if (name === "engine" && id === "log")
    return json(response, { lines: makeLog(Date.now(), Number(url.searchParams.get("after") ?? 0), isHostile) });
  if (name === "engine") {
    const since = Date.parse(url.searchParams.get("since") ?? "") || 0;
    return json(response, makeEngine(Date.now(), since, isHostile, cookies.includes("empty=1")));
  }
  refuse(response, 404, "there is no such resource");
}

export function mockServer(): Plugin {
  const use = (middlewares: Connect.Server, isBuilt: boolean) => {
    middlewares.use((request, response, next) => {
      answer(request, response, next, isBuilt).catch((error: Error) => refuse(response, 500, error.message));
    });
  };
  return {
    name: "sharkpy-mock",
    // While it is developed, the page has scripts and styles of Vite in its HTML.
    configureServer: (server) => use(server.middlewares, false),
    configurePreviewServer: (server) => use(server.middlewares, true),
  };
}
