/** What is in memory of a table: its blocks, and how each column is encoded. */
import { useState } from "preact/hooks";
import { bytes, count, counted, percent, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty, Failure } from "../../parts/parts";
import { go } from "../../router";
import { openInWorksheet } from "../../worksheets";
import { type MemoryColumn, type TableMemory, type TableName, tablesApi } from "./api";
import { useAnswer } from "./ask";
import { statementName } from "./table_view";

const PAGE = 50;

export function MemoryTab({ table }: { table: TableName }) {
  const [offset, setOffset] = useState(0);
  const { answer, error, again } = useAnswer(String(offset), (signal) =>
    tablesApi.memory(table, signal, `offset=${offset}&limit=${PAGE}`),
  );
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return null;
  if (!answer.is_loaded) return <NotLoaded table={table} memory={answer} />;
  const known = answer.columns.filter((one) => one.decoded_bytes !== null);
  const decoded = known.reduce((sum, one) => sum + (one.decoded_bytes ?? 0), 0);
  const encoded = known.reduce((sum, one) => sum + one.encoded_bytes, 0);
  const most = Math.max(1, ...answer.columns.map((one) => Math.max(one.encoded_bytes, one.decoded_bytes ?? 0)));
  const hasPages = offset > 0 || answer.columns.length === PAGE;
  return (
    <div class="tab-body">
      <dl class="table-facts boxed">
        <div>
          <dt>In memory</dt>
          <dd>{bytes(answer.encoded_bytes)}</dd>
        </div>
        <div title={hasPages ? "Of the columns below" : "Against Arrow arrays without encoding"}>
          <dt>Compression</dt>
          <dd>{ratio(encoded, decoded)}</dd>
        </div>
        <div>
          <dt>Blocks</dt>
          <dd>{count(answer.num_blocks)}</dd>
        </div>
        <div>
          <dt>Rows</dt>
          <dd title={count(answer.num_rows)}>{shortCount(answer.num_rows)}</dd>
        </div>
        <div title="Each change of its rows in memory makes a version">
          <dt>Version</dt>
          <dd>{count(answer.version)}</dd>
        </div>
        <div
          title={answer.num_sampled < answer.num_blocks ? `Of ${count(answer.num_sampled)} sampled blocks` : undefined}
        >
          <dt>Evicted</dt>
          <dd>{answer.num_evicted ? percent(answer.num_evicted, answer.num_sampled) : "none"}</dd>
        </div>
        <HitRate memory={answer} />
        <div title="Durable copies spare the next start reading the files">
          <dt>Durable copy</dt>
          <dd>{answer.has_durable_copy ? "yes" : "no"}</dd>
        </div>
      </dl>
      <div class="card table-frame">
        <table class="table columns-table memory-table">
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Type</th>
              <th scope="col">Encodings</th>
              <th scope="col" class="number">
                Encoded
              </th>
              <th scope="col" class="number">
                Decoded
              </th>
              <th scope="col" class="number">
                Ratio
              </th>
              <th scope="col">
                <span class="visually-hidden">Encoded against decoded</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {answer.columns.map((column) => (
              <MemoryRow key={column.name} column={column} most={most} />
            ))}
          </tbody>
        </table>
      </div>
      {answer.num_sampled < answer.num_blocks && (
        <p class="muted">
          Figures of columns are estimated from {count(answer.num_sampled)} of {count(answer.num_blocks)} blocks.
        </p>
      )}
      {hasPages && (
        <div class="pager">
          <button type="button" class="button" disabled={!offset} onClick={() => setOffset(Math.max(0, offset - PAGE))}>
            Previous
          </button>
          <button
            type="button"
            class="button"
            disabled={answer.columns.length < PAGE}
            onClick={() => setOffset(offset + PAGE)}
          >
            Next
          </button>
        </div>
      )}
      {answer.partitions.length > 0 && <Partitions memory={answer} />}
    </div>
  );
}

function HitRate({ memory }: { memory: TableMemory }) {
  const { reads_from_memory: hits, reads_from_disk: fromDisk, reads_loaded: loaded } = memory;
  const reads = hits + fromDisk + loaded;
  const parts = `${count(hits)} from memory, ${count(fromDisk)} from disk, ${count(loaded)} loaded from its files first`;
  const since = "since the server started or the table was cached again";
  return (
    <div title={reads ? `Of ${counted(reads, "read")} of blocks: ${parts}; ${since}` : `No scan has read it ${since}`}>
      <dt>Hit rate</dt>
      <dd>
        {reads ? percent(hits, reads) : "no reads yet"}
        {reads > 0 && (
          <small class="muted">
            {shortCount(hits)} of {shortCount(reads)}
          </small>
        )}
      </dd>
    </div>
  );
}

function ratio(encoded: number, decoded: number): string {
  const found = encoded > 0 ? decoded / encoded : 0;
  if (!found) return "—";
  return `${found < 9.95 ? found.toFixed(1) : count(found)} ×`;
}

function MemoryRow({ column, most }: { column: MemoryColumn; most: number }) {
  const encodings = Object.entries(column.encodings);
  return (
    <tr>
      <th scope="row">
        <code>{column.name}</code>
      </th>
      <td class="of-type">
        <code title={column.type}>{column.type}</code>
      </td>
      <td>
        <span class="encodings">
          {encodings.map(([name, share]) => (
            <span key={name} class="chip">
              {name}
              {encodings.length > 1 && ` ${percent(share, 1)}`}
            </span>
          ))}
        </span>
      </td>
      <td class="number">{bytes(column.encoded_bytes)}</td>
      <td class="number">{bytes(column.decoded_bytes)}</td>
      <td class="number strong">{ratio(column.encoded_bytes, column.decoded_bytes ?? 0)}</td>
      <td class="of-bar">
        <span class="sizes" aria-hidden="true">
          <i class="decoded" style={{ width: `${(100 * (column.decoded_bytes ?? 0)) / most}%` }} />
          <i class="encoded" style={{ width: `${(100 * column.encoded_bytes) / most}%` }} />
        </span>
      </td>
    </tr>
  );
}

function Partitions({ memory }: { memory: TableMemory }) {
  return (
    <section class="card texts">
      <h3>
        Partitions in memory <span class="muted">under the policy {memory.policy}</span>
      </h3>
      <dl>
        {memory.partitions.map((one) => (
          <div key={one.name}>
            <dt>{one.name}</dt>
            <dd>{bytes(one.bytes)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function NotLoaded({ table, memory }: { table: TableName; memory: TableMemory }) {
  const isCached = memory.mode !== "NONE";
  const text = isCached
    ? `SELECT count(*) FROM ${statementName(table)};`
    : `CACHE TABLE ${statementName(table)};\nSELECT count(*) FROM ${statementName(table)};`;
  return (
    <Empty icon="disk" title={isCached ? "Not in memory yet" : "Read from its files"}>
      <p>
        {isCached
          ? "The first query of the table loads its blocks."
          : "CACHE TABLE keeps its rows in memory, encoded by column. Queries then skip reading and decoding files."}
      </p>
      <button
        type="button"
        class="button"
        onClick={() => {
          openInWorksheet(text);
          go("/worksheet");
        }}
      >
        <Icon name="worksheet" size={14} /> {isCached ? "Query it" : "CACHE TABLE"} in the worksheet
      </button>
    </Empty>
  );
}
