/** Changed queries, as the server sends them. One connection serves all listeners, and closes with the last one. */
import { signal } from "@preact/signals";
import { addressOf, type Query } from "./api";

export type LiveState = "off" | "connecting" | "live" | "lost";
export const liveState = signal<LiveState>("off");

type Listener = (changed: Query[]) => void;
const listeners = new Set<Listener>();
let source: EventSource | null = null;

/** Call `listener` with changed queries until the returned function is called. */
export function onChangedQueries(listener: Listener): () => void {
  listeners.add(listener);
  if (!source) connect();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) disconnect();
  };
}

function connect(): void {
  liveState.value = "connecting";
  source = new EventSource(addressOf("api/v1/events"));
  source.addEventListener("open", () => {
    liveState.value = "live";
  });
  source.addEventListener("error", () => {
    liveState.value = "lost";
  });
  source.addEventListener("queries", (event: MessageEvent<string>) => {
    liveState.value = "live";
    const changed = changedQueries(event.data);
    for (const listener of [...listeners]) listener(changed);
  });
}

function disconnect(): void {
  source?.close();
  source = null;
  liveState.value = "off";
}

export function changedQueries(data: string): Query[] {
  const body = JSON.parse(data) as Query[] | { queries: Query[] };
  return Array.isArray(body) ? body : body.queries;
}
