/** One table: its facts, and its tabs. */
import type { JSX } from "preact";
import { ApiError } from "../../api";
import { ago, bytes, count, fullTime, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty, Failure, Tabs, useNow } from "../../parts/parts";
import { SqlText } from "../../parts/sql_text";
import { copyText } from "../../parts/toasts";
import { go, place, replaceParameters } from "../../router";
import { quoted } from "../../sql/completion";
import { openInWorksheet } from "../../worksheets";
import { type TableFacts, type TableName, type TableSize, tablesApi } from "./api";
import { useAnswer } from "./ask";
import { ColumnsTab } from "./columns_tab";
import { FilesTab, HistoryTab } from "./files_tab";
import { kindIcon } from "./kinds";
import { LineageTab } from "./lineage_tab";
import { MemoryTab } from "./memory_tab";
import { SampleTab } from "./sample_tab";
// For statements with line numbers.
import "../../styles/query.css";

type Tab = "columns" | "sample" | "memory" | "files" | "history" | "ddl" | "lineage";

const TABS: readonly { name: Tab; text: string; isThere: (facts: TableFacts) => boolean }[] = [
  { name: "columns", text: "Columns", isThere: (facts) => facts.num_columns > 0 },
  { name: "sample", text: "Sample", isThere: (facts) => facts.num_columns > 0 && facts.kind !== "continuous sink" },
  { name: "memory", text: "Memory", isThere: (facts) => facts.has_files || facts.is_cached },
  { name: "files", text: "Files", isThere: (facts) => facts.has_files },
  { name: "history", text: "History", isThere: (facts) => facts.has_history },
  { name: "ddl", text: "DDL", isThere: (facts) => facts.ddl !== null },
  { name: "lineage", text: "Lineage", isThere: (facts) => facts.kind !== "system table" },
];

/** A table's name as a statement writes it. */
export function statementName(table: TableName): string {
  return `${quoted(table.database)}.${quoted(table.name)}`;
}

export function TableView({ table }: { table: TableName }) {
  const {
    answer: facts,
    error,
    again,
  } = useAnswer(`${table.database}.${table.name}`, (signal) => tablesApi.facts(table, signal));
  const { answer: size } = useAnswer(`${table.database}.${table.name}`, (signal) => tablesApi.size(table, signal));
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Empty icon="search" title="There is no such table">
        <p>
          <code>
            {table.database}.{table.name}
          </code>{" "}
          was dropped, or has another name.
        </p>
        <a class="button" href="#/tables">
          Show all tables
        </a>
      </Empty>
    );
  }
  if (error) return <Failure error={error} onRetry={again} />;
  if (!facts) return null;
  const tabs = TABS.filter((tab) => tab.isThere(facts));
  const asked = place.value.parameters.get("tab");
  const chosen = tabs.find((tab) => tab.name === asked)?.name ?? tabs[0]?.name ?? "lineage";
  return (
    <div class="table-view">
      <Head table={table} facts={facts} />
      <Facts facts={facts} size={size} />
      <Tabs
        label="Parts of the table"
        tabs={tabs.map(({ name, text }) => ({
          name,
          text,
          amount:
            name === "columns" ? facts.num_columns : name === "files" ? (size?.num_files ?? undefined) : undefined,
        }))}
        chosen={chosen}
        onChoose={(name) => replaceParameters(new URLSearchParams(name === tabs[0]?.name ? {} : { tab: name }))}
      />
      <TabBody tab={chosen} table={table} facts={facts} />
    </div>
  );
}

function TabBody({ tab, table, facts }: { tab: Tab; table: TableName; facts: TableFacts }): JSX.Element {
  switch (tab) {
    case "columns":
      return <ColumnsTab table={table} facts={facts} />;
    case "sample":
      return <SampleTab table={table} />;
    case "memory":
      return <MemoryTab table={table} />;
    case "files":
      return <FilesTab table={table} />;
    case "history":
      return <HistoryTab table={table} />;
    case "ddl":
      return <DdlTab facts={facts} />;
    default:
      return <LineageTab table={table} />;
  }
}

function Head({ table, facts }: { table: TableName; facts: TableFacts }) {
  return (
    <div class="page-head">
      <a class="button quiet small icon back" href="#/tables" aria-label="All tables">
        <Icon name="left" size={14} />
      </a>
      <h2 class="table-name">
        <span class="muted">{table.database}.</span>
        {table.name}
      </h2>
      <span class="chip">
        <Icon name={kindIcon(facts.kind)} size={12} /> {facts.kind}
      </span>
      {facts.is_cached && <span class="chip accent">in memory</span>}
      <div class="right">
        <button type="button" class="button" onClick={() => copyText(statementName(table), "Name")}>
          <Icon name="copy" size={14} /> Copy name
        </button>
        {facts.num_columns > 0 && (
          <button
            type="button"
            class="button primary"
            onClick={() => {
              openInWorksheet(`SELECT *\nFROM ${statementName(table)}\nLIMIT 100;`);
              go("/worksheet");
            }}
          >
            <Icon name="worksheet" size={14} /> Query in worksheet
          </button>
        )}
      </div>
      {facts.comment && <p class="table-comment">{facts.comment}</p>}
    </div>
  );
}

function Facts({ facts, size }: { facts: TableFacts; size: TableSize | null }) {
  const now = useNow(60_000);
  const shown: [string, JSX.Element | string | null, string?][] = [
    ["Rows", size?.rows == null ? null : shortCount(size.rows), size?.rows == null ? "" : rowsTip(size)],
    ["Size", size?.bytes == null ? null : bytes(size.bytes), "Bytes of its files"],
    ["Files", size?.num_files == null ? null : count(size.num_files)],
    ["Columns", facts.num_columns ? count(facts.num_columns) : null],
    ["Format", facts.format],
    ["Partitioned by", facts.partition_columns.join(", ") || null],
    ["Buckets", facts.num_buckets == null ? null : `${count(facts.num_buckets)} by ${facts.bucket_columns.join(", ")}`],
    ["Created", facts.created && ago(facts.created, now), facts.created ? fullTime(facts.created) : ""],
    ["Owner", facts.owner || null],
  ];
  const known = shown.filter(([, value]) => value !== null);
  return (
    <dl class="table-facts">
      {known.map(([name, value, tip]) => (
        <div key={name} title={tip}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function rowsTip(size: TableSize): string {
  const from = size.rows_from === "memory" ? "of the version in memory" : "by ANALYZE TABLE";
  return `${count(size.rows)} rows ${from}`;
}

function DdlTab({ facts }: { facts: TableFacts }) {
  const ddl = facts.ddl ?? "";
  return (
    <div class="tab-body">
      <div class="tab-bar">
        <button type="button" class="button small" onClick={() => copyText(ddl, "Statement")}>
          <Icon name="copy" size={13} /> Copy
        </button>
        <button
          type="button"
          class="button small"
          onClick={() => {
            openInWorksheet(`${ddl};`);
            go("/worksheet");
          }}
        >
          <Icon name="worksheet" size={13} /> Open in worksheet
        </button>
      </div>
      <SqlText text={ddl} error={null} />
      <Texts title="Stream" texts={facts.facts} />
      <Texts title="Properties" texts={facts.properties} />
      {facts.location && <Texts title="Location" texts={[{ name: "folder", value: facts.location }]} />}
    </div>
  );
}

function Texts({ title, texts }: { title: string; texts: readonly { name: string; value: string }[] }) {
  if (!texts.length) return null;
  return (
    <section class="card texts">
      <h3>{title}</h3>
      <dl>
        {texts.map((one) => (
          <div key={one.name}>
            <dt>{one.name}</dt>
            <dd class="mono">{one.value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
