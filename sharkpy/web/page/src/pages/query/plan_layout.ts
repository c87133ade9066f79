/** Places of a plan's operators in a drawing: the root on top, rows flow upwards. */
import { hierarchy, tree } from "d3-hierarchy";
import type { Operator, Profile, Stage } from "../../api";

export const BOX_WIDTH = 216;
export const BOX_HEIGHT = 62;
const GAP_X = 26;
const GAP_Y = 38;
const MARGIN = 24;

export interface Box {
  operator: Operator;
  x: number;
  y: number;
  /** Share of the time of all operators, from 0 to 1. */
  share: number;
  /** 0 to 5: the operator's time against the time of the slowest one; if none was measured, the time of its stage. */
  heat: number;
  parent: Box | null;
  children: Box[];
}

export interface Edge {
  from: Box;
  to: Box;
  rows: number | null;
  width: number;
  isExchange: boolean;
  /** Largest bucket of the exchange against its median, if it is known. */
  skew: number | null;
}

export interface PlanDrawing {
  /** Whether operators were measured. Otherwise only stages have times. */
  isMeasured: boolean;
  boxes: Box[];
  edges: Edge[];
  byId: Map<number, Box>;
  width: number;
  height: number;
}

const HEAT_FROM = [0.02, 0.08, 0.2, 0.45, 0.75] as const;

/** A label without the numbers that tell columns of one name apart. */
export function withoutNumbers(label: string): string {
  return label.replace(/(\S)#\d+/g, "$1");
}

/** The label without numbers, and without its first word if the operator's kind says the same. */
export function detailOf({ kind, label }: Pick<Operator, "kind" | "label">): string {
  const plain = withoutNumbers(label);
  const [first = ""] = plain.split(" ", 1);
  return first && kind.startsWith(first) ? plain.slice(first.length).trim() : plain;
}

export function heatOf(time: number, slowest: number): number {
  return slowest > 0 ? HEAT_FROM.filter((from) => time / slowest >= from).length : 0;
}

/** Width of an edge: one more for each factor of ten in rows. */
export function edgeWidth(rows: number | null): number {
  return rows == null ? 1.5 : 1.5 + 1.05 * Math.log10(Math.max(1, rows));
}

/** Largest value against the median of the values that are not 0, or null if there are fewer than two. */
export function skewOf(values: readonly number[] | null | undefined): number | null {
  const sorted = (values ?? []).filter((value) => value > 0).sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  const largest = sorted.at(-1);
  return sorted.length < 2 || !median || largest === undefined ? null : largest / median;
}

interface Branch {
  operator: Operator;
  branches: Branch[];
}

export function drawPlan(profile: Pick<Profile, "root" | "operators" | "stages">): PlanDrawing {
  const operators = new Map(profile.operators.map((operator) => [operator.id, operator]));
  const stages = new Map(profile.stages.map((stage) => [stage.number, stage]));
  const root = profile.root === null ? undefined : operators.get(profile.root);
  if (!root) return { boxes: [], edges: [], byId: new Map(), width: 0, height: 0, isMeasured: false };
  // An exchange that is read twice hangs below its first reader; the other reader gets an edge of its own.
  const further: [number, number][] = [];
  const placed = tree<Branch>()
    .nodeSize([BOX_WIDTH + GAP_X, BOX_HEIGHT + GAP_Y])
    .separation(() => 1)(hierarchy(branchOf(root, operators, further), (branch) => branch.branches));
  const total = profile.operators.reduce((sum, operator) => sum + (operator.seconds ?? 0), 0);
  const isMeasured = total > 0;
  const ofStage = (operator: Operator) =>
    stages.size > 1 && operator.stage !== null ? (stages.get(operator.stage)?.seconds ?? 0) : 0;
  const timeOf = (operator: Operator) => (isMeasured ? (operator.seconds ?? 0) : ofStage(operator));
  const slowest = Math.max(0, ...profile.operators.map(timeOf));
  const byId = new Map<number, Box>();
  let left = 0;
  placed.each((node) => {
    left = Math.min(left, node.x);
  });
  placed.each((node) => {
    const { operator } = node.data;
    const share = total ? (operator.seconds ?? 0) / total : 0;
    const parent = node.parent ? (byId.get(node.parent.data.operator.id) ?? null) : null;
    const box = {
      operator,
      x: node.x - left + MARGIN,
      y: node.y + MARGIN,
      share,
      heat: heatOf(timeOf(operator), slowest),
      parent,
      children: [],
    };
    byId.set(operator.id, box);
    parent?.children.push(box);
  });
  const boxes = [...byId.values()];
  const edges: Edge[] = [];
  for (const box of boxes) if (box.parent) edges.push(edgeOf(box, box.parent, stages));
  for (const [reader, writer] of further) {
    const [to, from] = [byId.get(reader), byId.get(writer)];
    if (from && to) edges.push(edgeOf(from, to, stages));
  }
  return {
    isMeasured,
    boxes,
    edges,
    byId,
    width: Math.max(...boxes.map((box) => box.x)) + BOX_WIDTH + MARGIN,
    height: Math.max(...boxes.map((box) => box.y)) + BOX_HEIGHT + MARGIN,
  };
}

/** The tree below an operator. Operators that were met before are put into `further`, with their second reader. */
function branchOf(root: Operator, operators: Map<number, Operator>, further: [number, number][]): Branch {
  const met = new Set([root.id]);
  const top: Branch = { operator: root, branches: [] };
  const open = [top];
  for (let branch = open.pop(); branch; branch = open.pop()) {
    for (const id of branch.operator.children) {
      const child = operators.get(id);
      if (!child) continue;
      if (met.has(id)) {
        further.push([branch.operator.id, id]);
        continue;
      }
      met.add(id);
      const below: Branch = { operator: child, branches: [] };
      branch.branches.push(below);
      open.push(below);
    }
  }
  return top;
}

function edgeOf(from: Box, to: Box, stages: Map<number, Stage>): Edge {
  const isExchange = from.operator.stage !== to.operator.stage;
  const stage = from.operator.stage === null ? undefined : stages.get(from.operator.stage);
  return {
    from,
    to,
    rows: from.operator.rows,
    width: edgeWidth(from.operator.rows),
    isExchange,
    skew: isExchange ? skewOf(stage?.bucket_bytes) : null,
  };
}

/** A curve from the top of the lower box to the bottom of the upper one. */
export function edgePath({ from, to }: Edge): string {
  const [x1, y1] = [from.x + BOX_WIDTH / 2, from.y];
  const [x2, y2] = [to.x + BOX_WIDTH / 2, to.y + BOX_HEIGHT];
  const bend = (y1 - y2) / 2;
  return `M${x1},${y1}C${x1},${y1 - bend} ${x2},${y2 + bend} ${x2},${y2}`;
}

/** Operators that fit the words of a search, in the order of their time. */
export function findOperators(boxes: readonly Box[], words: string): Box[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return [];
  return boxes
    .filter(({ operator }) => {
      const text =
        `${operator.kind} ${operator.label} stage ${operator.stage ?? ""} ${operator.notes.join(" ")}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    })
    .sort((a, b) => b.share - a.share);
}
