/** Answers that a part of the page asks for while it is shown. */
import { useEffect, useState } from "preact/hooks";

export interface Asked<Answer> {
  answer: Answer | null;
  error: Error | null;
  again: () => void;
}

/** Ask once, and again when `key` changes or `again` is called. */
export function useAnswer<Answer>(key: string, ask: (signal: AbortSignal) => Promise<Answer>): Asked<Answer> {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for the question
  useEffect(() => {
    const stop = new AbortController();
    ask(stop.signal).then(
      (found) => {
        setAnswer(found);
        setError(null);
      },
      (failure: Error) => {
        if (!stop.signal.aborted) setError(failure);
      },
    );
    return () => stop.abort();
  }, [key, round]);
  return { answer, error, again: () => setRound((last) => last + 1) };
}
