import { api, type Query } from "../../api";
import { confirm } from "../../parts/dialog";
import { oneLineSql } from "../../parts/sql_text";
import { say, sayError } from "../../parts/toasts";

export function askToCancel(query: Query): void {
  confirm({
    title: "Cancel this query?",
    text: oneLineSql(query.text),
    action: "Cancel the query",
    keep: "Keep it running",
    run: () => {
      api.cancel(query.query_id).then(() => say("The query is being cancelled"), sayError);
    },
  });
}
