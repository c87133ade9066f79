/** Some rows of a table. */
import { useMemo, useState } from "preact/hooks";
import { count } from "../../format";
import { Empty, Failure } from "../../parts/parts";
import { Grid } from "../worksheet/grid";
import { type Order, type ResultTable, sortedRows } from "../worksheet/result_table";
import type { TableName } from "./api";
import { useAnswer } from "./ask";
import { sampleStatement } from "./column_values";
import { runOnce } from "./run_once";
import "../../styles/worksheet.css";

const ROWS = 100;

export function SampleTab({ table }: { table: TableName }) {
  const { answer, error, again } = useAnswer("sample", (signal) => runOnce(sampleStatement(table, ROWS), signal, ROWS));
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <p class="muted values-note">Reading {count(ROWS)} rows…</p>;
  if (!answer.length) {
    return (
      <Empty icon="grid" title="The table has no rows">
        <p>INSERT INTO adds some.</p>
      </Empty>
    );
  }
  return <Rows table={answer} />;
}

function Rows({ table }: { table: ResultTable }) {
  const [order, setOrder] = useState<Order | null>(null);
  const rows = useMemo(() => order && sortedRows(table, order), [table, order]);
  return (
    <div class="card sample">
      <Grid table={table} version={1} rows={rows} order={order} onOrder={setOrder} />
    </div>
  );
}
