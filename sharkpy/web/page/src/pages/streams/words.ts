/** Words for kinds and states, and the statements that change a continuous query. */
import { seconds } from "../../format";
import type { IconName } from "../../parts/icons";
import type { NodeKind, NodeState, PartitionRead, StreamNode, Watermark } from "./api";

export const KINDS: Record<NodeKind, { text: string; icon: IconName }> = {
  stream: { text: "Stream", icon: "streams" },
  continuous_table: { text: "Continuous table", icon: "grid" },
  insert: { text: "Continuous insert", icon: "right" },
  sink: { text: "Continuous sink", icon: "download" },
  table: { text: "Table", icon: "table" },
};

export const STATES: Record<NodeState, { text: string; icon: IconName; advice: string }> = {
  running: { text: "Running", icon: "turning", advice: "" },
  retrying: {
    text: "Retrying",
    icon: "alert",
    advice: "The engine tries this epoch again by itself, at least every 30 seconds. Look at the cause meanwhile.",
  },
  waiting: {
    text: "Waiting",
    icon: "clock",
    advice: "No program takes the rows of this sink. They come when one calls foreach_batch.",
  },
  paused: { text: "Paused", icon: "pause", advice: "" },
  stopped: {
    text: "Stopped",
    icon: "alert",
    advice: "Repair the cause, then resume: the same epoch runs again. No row is lost or doubled.",
  },
  finished: { text: "Finished", icon: "check", advice: "" },
};

const NOTICED_LAG = 1000;

/** Whether items wait for longer than until the next epoch, as far as the page can tell. */
export function isBehind(state: NodeState | null, lag: number | null): boolean {
  return lag !== null && lag > 0 && (state !== "running" || lag >= NOTICED_LAG);
}

export function kindText(node: StreamNode): string {
  return node.source ? `${KINDS[node.kind].text} · ${node.source}` : KINDS[node.kind].text;
}

/** When epochs begin, such as "every 5 s". */
export function triggerText(trigger: string): string {
  const every = /^EVERY (\d+) MILLISECONDS$/.exec(trigger);
  if (!every) return trigger.toLowerCase();
  return every[1] === "0" ? "as soon as there is input" : `every ${seconds(Number(every[1]) / 1000)}`;
}

/** The latest event time of a partition's last records, and its distance to the furthest partition. */
export function partitionText(one: PartitionRead): string {
  const behind = one.lag_seconds ? `, ${seconds(one.lag_seconds)} earlier than the furthest partition` : "";
  return `latest ${one.latest}${behind}${one.is_before_watermark ? ", before the watermark" : ""}`;
}

/** Where the watermark of a stream comes from, and its part in the watermark of the query. */
export function watermarkText(mark: Watermark, heldBackBy: string | null): string {
  const parts = [mark.latest ? `latest row ${mark.latest}` : "no row has come"];
  if (mark.lag_seconds) parts.push(`${seconds(mark.lag_seconds)} earlier than the furthest stream`);
  if (mark.is_idle) parts.push("idle, so it does not hold the others back");
  else if (mark.stream === heldBackBy) parts.push("holds the watermark back");
  return parts.join(" · ");
}

/** A qualified name as statements take it. */
export function quotedName(name: string): string {
  const at = name.indexOf(".");
  return [name.slice(0, at), name.slice(at + 1)].map((part) => `\`${part.replaceAll("`", "``")}\``).join(".");
}

const WORDS: Partial<Record<NodeKind, string>> = {
  continuous_table: "CONTINUOUS TABLE",
  insert: "CONTINUOUS INSERT",
  sink: "CONTINUOUS SINK",
};

export function statementOf(action: "PAUSE" | "RESUME" | "ROLLBACK", node: StreamNode, epoch?: number): string {
  const to = action === "ROLLBACK" ? ` TO EPOCH ${epoch}` : "";
  return `${action} ${WORDS[node.kind]} ${quotedName(node.name)}${to}`;
}

export function addressOfStream(name: string): string {
  return `#/streams/${encodeURIComponent(name)}`;
}
