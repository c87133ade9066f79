/** The end of the server's log, which follows new messages while it is scrolled to its end. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "../../parts/parts";
import { usePoll } from "../../parts/poll";
import { askLog, type LogLine } from "./api";

const PERIOD = 2000;
const LEVELS = ["all", "warning", "error"] as const;

function isShown(line: LogLine, level: (typeof LEVELS)[number]): boolean {
  if (level === "all") return true;
  return line.level === "error" || line.level === "critical" || (level === "warning" && line.level === "warning");
}

export function LogTail() {
  const known = useRef<LogLine[]>([]);
  const { answer, error } = usePoll(async (signal) => {
    known.current = await askLog(known.current, signal);
    return known.current;
  }, PERIOD);
  const [level, setLevel] = useState<(typeof LEVELS)[number]>("all");
  const frame = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const lines = (answer ?? []).filter((line) => isShown(line, level));
  const last = lines.at(-1)?.number;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `last` changes with new messages
  useEffect(() => {
    if (isAtEnd.current && frame.current) frame.current.scrollTop = frame.current.scrollHeight;
  }, [last]);
  return (
    <section class="card panel" aria-label="Log">
      <header>
        <h2>Log</h2>
        <div class="segments">
          {LEVELS.map((one) => (
            <button key={one} type="button" aria-pressed={one === level} onClick={() => setLevel(one)}>
              {one === "all" ? "All" : one === "warning" ? "Warnings" : "Errors"}
            </button>
          ))}
        </div>
      </header>
      {error && <Failure error={error} />}
      <div
        ref={frame}
        class="log"
        role="log"
        aria-label="Messages of the server"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long log scrolls by the keyboard
        tabIndex={0}
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < 30;
        }}
      >
        {lines.map((line) => (
          <div key={line.number} class={`log-line ${line.level}`}>
            <time title={line.time}>{new Date(line.time).toLocaleTimeString("en-GB")}</time>
            <span class="level">{line.level}</span>
            <span class="log-text">
              <b>{line.logger.replace(/^sharkpy\./, "")}</b> {line.text}
            </span>
          </div>
        ))}
        {answer && lines.length === 0 && <p class="muted">No messages yet</p>}
      </div>
    </section>
  );
}
