/** Files of a table, and its versions. */
import { useEffect, useState } from "preact/hooks";
import { ago, bytes, count, counted, fullTime, shortCount } from "../../format";
import { Empty, Failure, useNow } from "../../parts/parts";
import { SqlLine } from "../../parts/sql_text";
import { type TableChange, type TableName, tablesApi } from "./api";
import { useAnswer } from "./ask";

const PAGE = 100;

export function FilesTab({ table }: { table: TableName }) {
  const [offset, setOffset] = useState(0);
  const now = useNow(60_000);
  const { answer, error, again } = useAnswer(String(offset), (signal) =>
    tablesApi.files(table, signal, `offset=${offset}&limit=${PAGE}`),
  );
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return null;
  if (answer.num_files === null) {
    return (
      <Empty icon="alert" title="The files cannot be listed">
        <p>The folder is missing, or the storage cannot be reached.</p>
        <button type="button" class="button" onClick={again}>
          Try again
        </button>
      </Empty>
    );
  }
  if (!answer.num_files) {
    return (
      <Empty icon="disk" title="The table has no files">
        <p>The first INSERT writes some.</p>
      </Empty>
    );
  }
  const hasPartitions = answer.files.some((file) => file.partition);
  const folder = commonFolder(answer.files.map((file) => file.path));
  return (
    <div class="tab-body">
      <p class="muted">
        {counted(answer.num_files, "file")}, {bytes(answer.bytes)}, in <code class="path">{folder || "/"}</code>
      </p>
      <div class="card table-frame">
        <table class="table columns-table">
          <thead>
            <tr>
              <th scope="col">File</th>
              {hasPartitions && <th scope="col">Partition</th>}
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col" class="number">
                Written
              </th>
            </tr>
          </thead>
          <tbody>
            {answer.files.map((file) => (
              <tr key={file.path}>
                <th scope="row" class="of-path" title={file.path}>
                  <code>{file.path.slice(folder.length)}</code>
                </th>
                {hasPartitions && <td class="mono">{file.partition}</td>}
                <td class="number">{bytes(file.bytes)}</td>
                <td class="number" title={file.modified ? fullTime(file.modified) : undefined}>
                  {file.modified ? ago(file.modified, now) : "—"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {answer.num_files > PAGE && (
        <div class="pager">
          <button type="button" class="button" disabled={!offset} onClick={() => setOffset(Math.max(0, offset - PAGE))}>
            Previous
          </button>
          <span class="muted">
            {count(offset + 1)} to {count(offset + answer.files.length)} of {count(answer.num_files)}
          </span>
          <button
            type="button"
            class="button"
            disabled={offset + PAGE >= answer.num_files}
            onClick={() => setOffset(offset + PAGE)}
          >
            Next
          </button>
        </div>
      )}
    </div>
  );
}

/** The folder that all paths are in, with its slash. */
export function commonFolder(paths: readonly string[]): string {
  const sorted = [...paths].sort();
  const [first = "", last = ""] = [sorted[0], sorted.at(-1)];
  let length = 0;
  while (length < first.length && first[length] === last[length]) length++;
  return first.slice(0, first.slice(0, length).lastIndexOf("/") + 1);
}

export function HistoryTab({ table }: { table: TableName }) {
  const now = useNow(60_000);
  const [before, setBefore] = useState<number | null>(null);
  const [shown, setShown] = useState<TableChange[]>([]);
  const { answer, error, again } = useAnswer(String(before), (signal) =>
    tablesApi.history(table, signal, before === null ? "" : `before=${before}`),
  );
  useEffect(() => {
    if (answer) setShown((known) => [...known.filter((one) => !answer.changes.includes(one)), ...answer.changes]);
  }, [answer]);
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return null;
  if (!answer.changes.length && !shown.length) {
    return (
      <Empty icon="clock" title="No versions are recorded">
        <p>They are recorded for managed tables in the warehouse.</p>
      </Empty>
    );
  }
  return (
    <div class="tab-body">
      <div class="card table-frame">
        <table class="table columns-table history-table">
          <thead>
            <tr>
              <th scope="col" class="number">
                Version
              </th>
              <th scope="col">When</th>
              <th scope="col">Statement</th>
              <th scope="col">User</th>
              <th scope="col" class="number">
                Rows
              </th>
              <th scope="col" class="number">
                Files
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.version}>
                <th scope="row" class="number">
                  {count(one.version)}
                </th>
                <td title={fullTime(one.time)}>{ago(one.time, now)}</td>
                <td class="of-text" title={one.statement ?? undefined}>
                  {one.statement === null ? (
                    <span class="muted">of another user</span>
                  ) : (
                    <SqlLine text={one.statement} />
                  )}
                </td>
                <td class="of-user">{one.user ?? "—"}</td>
                <td class="number">
                  <Change added={one.rows_added} removed={one.rows_removed} />
                </td>
                <td class="number">
                  <Change added={one.files_added} removed={one.files_removed} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {answer.next !== null && (
        <div class="pager">
          <button type="button" class="button" onClick={() => setBefore(answer.next)}>
            Show older versions
          </button>
        </div>
      )}
    </div>
  );
}

function Change({ added, removed }: { added: number | null; removed: number | null }) {
  if (added === null && removed === null) return <>—</>;
  return (
    <span class="change" title={`${count(added)} added, ${count(removed)} removed`}>
      {Boolean(added) && <b>+{shortCount(added)}</b>}
      {Boolean(removed) && <i>−{shortCount(removed)}</i>}
      {!added && !removed && "0"}
    </span>
  );
}
