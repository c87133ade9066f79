/** All streams: their graph, and the continuous queries in a list. */
import { Icon } from "../../parts/icons";
import { Empty, Failure, useTitle } from "../../parts/parts";
import { usePoll } from "../../parts/poll";
import { askStreams } from "./api";
import { GraphView, totalsText } from "./graph_view";
import { StreamList } from "./stream_list";
import "./streams.css";

const PERIOD = 2000;
const EXAMPLE = `CREATE STREAM clicks (url STRING, ts TIMESTAMP) STORED AS JSONFILE FROM FOLDER '/data/in';
CREATE CONTINUOUS TABLE hits AS SELECT url, ts FROM clicks;`;

export function StreamsPage() {
  useTitle("Streams");
  const { answer, error, again } = usePoll(askStreams, PERIOD);
  const hasNodes = answer !== null && answer.nodes.length > 0;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Streams</h1>
        {hasNodes && <span class="muted">{totalsText(answer)}</span>}
        <div class="right">
          <span class={error ? "live lost" : "live on"}>{error ? "Reconnecting" : "Live"}</span>
        </div>
      </div>
      {error && <Failure error={error} onRetry={again} />}
      {hasNodes && (
        <>
          <GraphView streams={answer} />
          <StreamList nodes={answer.nodes} />
        </>
      )}
      {answer && !hasNodes && (
        <div class="card">
          <Empty icon="streams" title="No streams yet">
            <p>A stream is an input that grows. A continuous table keeps the result of a query over it up to date.</p>
            <pre class="example">{EXAMPLE}</pre>
            <a class="button" href="#/worksheet">
              <Icon name="worksheet" size={15} /> Open the worksheet
            </a>
          </Empty>
        </div>
      )}
    </div>
  );
}
