/** Buttons that pause, resume and roll back a continuous query. Each runs a statement, after a question. */
import { useState } from "preact/hooks";
import { ApiError } from "../../api";
import { fullTime } from "../../format";
import { confirm, Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { say, sayError } from "../../parts/toasts";
import { runStatement, type Stream } from "./api";
import { statementOf } from "./words";

async function run(statement: string, done: string, again: () => void): Promise<void> {
  try {
    await runStatement(statement);
    say(done);
  } catch (error) {
    const hint = error instanceof ApiError ? error.error.hint : null;
    sayError(hint ? new Error(`${(error as Error).message}. ${hint}`) : error);
  }
  again();
}

export function ControlButtons({ stream, again }: { stream: Stream; again: () => void }) {
  const { node } = stream;
  const [rollsBack, setRollsBack] = useState(false);
  const isActive = node.state === "running" || node.state === "retrying" || node.state === "waiting";
  const pause = () =>
    confirm({
      title: `Pause ${node.name}?`,
      text: "The running epoch ends, and no other begins. New items wait in the streams until you resume.",
      action: "Pause",
      keep: "Keep it running",
      run: () => run(statementOf("PAUSE", node), "Paused", again),
    });
  const resume = () =>
    confirm({
      title: `Resume ${node.name}?`,
      text:
        node.state === "stopped"
          ? "The epoch that failed runs again, with the same input. If its cause is still there, it stops again."
          : "The next epoch begins, with all items that have waited.",
      action: "Resume",
      keep: "Leave it",
      run: () => run(statementOf("RESUME", node), "Resumed", again),
    });
  return (
    <>
      {isActive ? (
        <button type="button" class="button" onClick={pause}>
          <Icon name="pause" size={14} /> Pause
        </button>
      ) : (
        <button type="button" class="button primary" onClick={resume}>
          <Icon name="play" size={14} /> Resume
        </button>
      )}
      {stream.retained.length > 0 && (
        <button type="button" class="button" onClick={() => setRollsBack(true)}>
          <Icon name="undo" size={14} /> Roll back
        </button>
      )}
      {rollsBack && <RollbackDialog stream={stream} again={again} onClose={() => setRollsBack(false)} />}
    </>
  );
}

function RollbackDialog({ stream, again, onClose }: { stream: Stream; again: () => void; onClose: () => void }) {
  const { node, retained } = stream;
  const newest = retained.toReversed();
  const [epoch, setEpoch] = useState<number>((newest[1] ?? newest[0])?.number ?? 0);
  const statement = statementOf("ROLLBACK", node, epoch);
  return (
    <Dialog label="Roll back" onClose={onClose}>
      <form
        class="content"
        onSubmit={(event) => {
          event.preventDefault();
          onClose();
          run(statement, `Rolled back to epoch ${epoch}`, again);
        }}
      >
        <h2>Roll back {node.name}?</h2>
        <p class="muted">
          Its rows become those of the epoch that you choose. Later input is read again, with the current query.
          {node.state === "running" && " Pause it first if you want to change the query before that."}
        </p>
        <label class="field">
          Epoch
          <select
            class="select"
            value={String(epoch)}
            onChange={(event) => setEpoch(Number(event.currentTarget.value))}
          >
            {newest.map((one) => (
              <option key={one.number} value={String(one.number)}>
                {one.number} · {fullTime(one.written)}
              </option>
            ))}
          </select>
        </label>
        <code class="statement-line">{statement}</code>
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            Keep the rows
          </button>
          <button type="submit" class="button danger">
            Roll back
          </button>
        </div>
      </form>
    </Dialog>
  );
}
