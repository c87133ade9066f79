/** Decisions of the planner and of run-time rules, with their figures. */
import type { Decision } from "../../api";
import { bytes, count, seconds } from "../../format";
import { Empty } from "../../parts/parts";
import { withoutNumbers } from "./plan_layout";

/** A figure as its name suggests: bytes, seconds or a count. A limit has the unit of the other figures. */
export function figureText(name: string, value: number | string, others: readonly string[] = []): string {
  if (typeof value !== "number") return value;
  const named = name === "limit" ? others.join(" ") : name;
  if (/bytes/.test(named)) return bytes(value);
  if (/seconds/.test(named)) return seconds(value);
  return Number.isInteger(value) ? count(value) : value.toPrecision(3);
}

export function DecisionsView({ decisions }: { decisions: Decision[] }) {
  if (!decisions.length) {
    return (
      <Empty icon="check" title="No decisions to report">
        <p>The plan ran as it was made.</p>
      </Empty>
    );
  }
  return (
    <ol class="card decisions">
      {decisions.map((decision) => (
        <li key={`${decision.when} ${decision.text}`}>
          <span class={decision.when === "run time" ? "chip run-time" : "chip"}>
            {decision.when === "run time" ? "Run time" : "Planning"}
          </span>
          <p>{withoutNumbers(decision.text)}</p>
          <dl>
            {Object.entries(decision.figures).map(([name, value]) => (
              <div key={name}>
                <dt>{name.replaceAll("_", " ")}</dt>
                <dd>{figureText(name, value, Object.keys(decision.figures))}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ol>
  );
}
