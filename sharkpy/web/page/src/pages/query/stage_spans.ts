/** Places of stages on a line of time. */
import type { Stage } from "../../api";

export interface Span {
  stage: Stage;
  /** Seconds after the first stage began, or null if the start is not known. */
  from: number | null;
  seconds: number;
}

/** Places of stages in time, in the order of their start. */
export function stageSpans(stages: readonly Stage[]): { spans: Span[]; total: number } {
  const starts = stages.map((stage) => {
    if (stage.started === null) return null;
    const start = typeof stage.started === "number" ? stage.started : Date.parse(stage.started) / 1000;
    return Number.isFinite(start) ? start : null;
  });
  const known = starts.filter((start) => start !== null);
  const first = known.length ? Math.min(...known) : 0;
  const spans = stages.map((stage, index) => {
    const start = starts[index] ?? null;
    return { stage, from: start === null ? null : start - first, seconds: stage.seconds ?? 0 };
  });
  spans.sort((a, b) => (a.from ?? 0) - (b.from ?? 0) || a.stage.number - b.stage.number);
  return { spans, total: Math.max(1e-6, ...spans.map((span) => (span.from ?? 0) + span.seconds)) };
}
