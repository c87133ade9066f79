import { Icon } from "../../parts/icons";
import type { StreamNode } from "./api";
import { STATES } from "./words";

export function NodeStateText({ node }: { node: StreamNode }) {
  if (!node.state) return null;
  const shown = STATES[node.state];
  return (
    <span class={`node-state ${node.state}`}>
      <Icon name={shown.icon} size={13} spins={node.state === "running" && (node.rows_per_second ?? 0) > 0} />
      {shown.text}
    </span>
  );
}
