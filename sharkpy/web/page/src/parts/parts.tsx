/** Small parts that several pages use. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ApiError, Progress, QueryState } from "../api";
import { count, shortCount } from "../format";
import { liveState } from "../live";
import { Icon, type IconName } from "./icons";

const STATES: Record<QueryState, { icon: IconName; text: string }> = {
  queued: { icon: "clock", text: "Queued" },
  running: { icon: "turning", text: "Running" },
  waiting: { icon: "pause", text: "Waiting" },
  finished: { icon: "check", text: "Finished" },
  failed: { icon: "alert", text: "Failed" },
  cancelled: { icon: "ban", text: "Cancelled" },
  timed_out: { icon: "clock", text: "Timed out" },
  closed: { icon: "cross", text: "Closed" },
};

export function State({ state }: { state: QueryState }) {
  const shown = STATES[state] ?? { icon: "more", text: String(state) };
  return (
    <span class={`state ${state}`}>
      <Icon name={shown.icon} size={14} spins={state === "running"} />
      {shown.text}
    </span>
  );
}

export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={props.icon} size={28} />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

export function Failure({ error, onRetry }: { error: ApiError | Error; onRetry?: () => void }) {
  const hint = "error" in error ? error.error.hint : null;
  return (
    <div class="notice bad" role="alert">
      <strong>{error.message}</strong>
      {hint && <span>{hint}</span>}
      {onRetry && (
        <button type="button" class="button small" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Share of the work that is done, or null if it is not known. */
export function doneShare(progress: Progress | null): number | null {
  if (!progress?.tasks_total || progress.tasks_done == null) return null;
  return Math.min(1, progress.tasks_done / progress.tasks_total);
}

export function progressText(progress: Progress | null, seconds: number | null): string {
  if (!progress) return "";
  const parts: string[] = [];
  if (progress.queued_behind != null) parts.push(`after ${progress.queued_behind} in the queue`);
  else if (progress.stage) parts.push(`stage ${progress.stages_done + 1}: ${progress.stage.split(" ")[0]}`);
  if (progress.tasks_total) parts.push(`${count(progress.tasks_done ?? 0)} of ${count(progress.tasks_total)} tasks`);
  if (progress.rows_read) {
    parts.push(`${shortCount(progress.rows_read)} rows`);
    if (seconds && seconds > 1) parts.push(`${shortCount(progress.rows_read / seconds)} rows/s`);
  }
  return parts.join(" · ");
}

export function ProgressBar({ share, large = false }: { share: number | null; large?: boolean }) {
  return (
    <progress
      class={large ? "progress large" : "progress"}
      aria-label="Progress"
      max={1}
      {...(share == null ? {} : { value: share })}
    />
  );
}

export function Live() {
  const state = liveState.value;
  if (state === "off" || state === "connecting") return <span class="live">Connecting</span>;
  return state === "live" ? <span class="live on">Live</span> : <span class="live lost">Reconnecting</span>;
}

/** Time in milliseconds, renewed each `period` milliseconds. */
export function useNow(period: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), period);
    return () => clearInterval(timer);
  }, [period]);
  return now;
}

export function Tabs<Name extends string>(props: {
  label: string;
  tabs: readonly { name: Name; text: string; amount?: number | undefined }[];
  chosen: Name;
  onChoose: (name: Name) => void;
}) {
  return (
    <div class="tabs" role="tablist" aria-label={props.label}>
      {props.tabs.map((tab, index) => (
        <button
          key={tab.name}
          type="button"
          role="tab"
          aria-selected={tab.name === props.chosen}
          tabIndex={tab.name === props.chosen ? 0 : -1}
          onClick={() => props.onChoose(tab.name)}
          onKeyDown={(event) => {
            const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            const next = props.tabs[(index + step + props.tabs.length) % props.tabs.length];
            if (!step || !next) return;
            props.onChoose(next.name);
            const sibling =
              step > 0 ? event.currentTarget.nextElementSibling : event.currentTarget.previousElementSibling;
            (sibling as HTMLElement | null)?.focus();
          }}
        >
          {tab.text}
          {tab.amount !== undefined && <span class="amount">{count(tab.amount)}</span>}
        </button>
      ))}
    </div>
  );
}

/** Set the window's title while a page is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · sharkpy`;
  }, [title]);
}

export function download(name: string, parts: BlobPart[], type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
