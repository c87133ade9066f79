/** Running, queued and ended queries, and groups of equal shape. */
import { Tabs, useTitle } from "../../parts/parts";
import { place, replaceParameters } from "../../router";
import { ExpensiveShapes } from "./expensive_shapes";
import { QueryList } from "./query_list";

export function QueriesPage() {
  useTitle("Queries");
  const tab = place.value.parameters.get("tab") === "expensive" ? "expensive" : "all";
  return (
    <div class="page">
      <div class="page-head">
        <h1>Queries</h1>
      </div>
      <Tabs
        label="Kinds of lists"
        tabs={[
          { name: "all", text: "All queries" },
          { name: "expensive", text: "Expensive" },
        ]}
        chosen={tab}
        onChoose={(name) => replaceParameters(new URLSearchParams(name === "all" ? {} : { tab: name }))}
      />
      {tab === "all" ? <QueryList /> : <ExpensiveShapes />}
    </div>
  );
}
