/** Answers that a page asks for again and again while someone looks at it. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface Polled<Answer> {
  answer: Answer | null;
  error: Error | null;
  /** Ask now. */
  again: () => void;
}

/** Ask `period` milliseconds after each answer. A hidden window asks when it is shown again. */
export function usePoll<Answer>(ask: (signal: AbortSignal) => Promise<Answer>, period: number): Polled<Answer> {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(ask);
  latest.current = ask;
  const askNow = useRef<() => void>(() => {});
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let isAsking = false;
    const run = async () => {
      clearTimeout(timer);
      if (isAsking || document.hidden) return;
      isAsking = true;
      try {
        const found = await latest.current(stop.signal);
        if (stop.signal.aborted) return;
        setAnswer(found);
        setError(null);
      } catch (failure) {
        if (!stop.signal.aborted) setError(failure as Error);
      }
      isAsking = false;
      if (!stop.signal.aborted) timer = window.setTimeout(run, period);
    };
    askNow.current = run;
    document.addEventListener("visibilitychange", run);
    run();
    return () => {
      document.removeEventListener("visibilitychange", run);
      clearTimeout(timer);
      stop.abort();
    };
  }, [period]);
  return { answer, error, again: () => askNow.current() };
}
