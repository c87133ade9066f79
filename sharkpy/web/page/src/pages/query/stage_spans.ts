/** Places of stages, and of the loads before them, on a line of time. */
import type { Stage, TableLoad } from "../../api";

export interface Span {
  stage: Stage;
  /** Seconds after the first load or stage began, or null if the start is not known. */
  from: number | null;
  seconds: number;
}

export interface LoadSpan {
  load: TableLoad;
  from: number;
}

/** Places of stages and loads in time, in the order of their start. */
export function stageSpans(
  stages: readonly Stage[],
  loads: readonly TableLoad[] = [],
): { spans: Span[]; loadSpans: LoadSpan[]; total: number } {
  const starts = stages.map((stage) => secondsOf(stage.started));
  const loadStarts = loads.map((load) => secondsOf(load.started));
  const known = [...starts, ...loadStarts].filter((start) => start !== null);
  const first = known.length ? Math.min(...known) : 0;
  const spans = stages.map((stage, index) => {
    const start = starts[index] ?? null;
    return { stage, from: start === null ? null : start - first, seconds: stage.seconds ?? 0 };
  });
  spans.sort((a, b) => (a.from ?? 0) - (b.from ?? 0) || a.stage.number - b.stage.number);
  const loadSpans = loads.map((load, index) => ({ load, from: (loadStarts[index] ?? first) - first }));
  loadSpans.sort((a, b) => a.from - b.from);
  const ends = [
    ...spans.map((span) => (span.from ?? 0) + span.seconds),
    ...loadSpans.map((span) => span.from + span.load.seconds),
  ];
  return { spans, loadSpans, total: Math.max(1e-6, ...ends) };
}

function secondsOf(time: string | number | null): number | null {
  if (time === null) return null;
  const found = typeof time === "number" ? time : Date.parse(time) / 1000;
  return Number.isFinite(found) ? found : null;
}
