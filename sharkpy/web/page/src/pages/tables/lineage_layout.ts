/** Places of tables in a picture of lineage: a column for each step, rows flow to the right. */
import type { Lineage, LineageEdge, LineageTable } from "./api";

export const NODE_WIDTH = 200;
export const NODE_HEIGHT = 52;
const GAP_X = 84;
const GAP_Y = 18;
const MARGIN = 20;

export interface Node {
  table: LineageTable;
  key: string;
  x: number;
  y: number;
}

export interface Link {
  edge: LineageEdge;
  from: Node;
  to: Node;
  path: string;
}

export interface LineagePicture {
  nodes: Node[];
  links: Link[];
  width: number;
  height: number;
}

export function keyOf(table: { database: string; name: string }): string {
  return `${table.database}.${table.name}`;
}

export function drawLineage(lineage: Pick<Lineage, "tables" | "edges">): LineagePicture {
  const levels = levelsOf(lineage);
  const found = [...new Set(levels.values())].sort((a, b) => a - b);
  const layers = found.map((level) => [...levels.keys()].filter((key) => levels.get(key) === level));
  order(layers, lineage.edges);
  const tables = new Map(lineage.tables.map((table) => [keyOf(table), table]));
  const most = Math.max(0, ...layers.map((layer) => layer.length));
  const nodes = new Map<string, Node>();
  for (const [column, layer] of layers.entries()) {
    const top = ((most - layer.length) * (NODE_HEIGHT + GAP_Y)) / 2;
    for (const [row, key] of layer.entries()) {
      const table = tables.get(key);
      if (!table) continue;
      const x = MARGIN + column * (NODE_WIDTH + GAP_X);
      nodes.set(key, { table, key, x, y: MARGIN + top + row * (NODE_HEIGHT + GAP_Y) });
    }
  }
  const links: Link[] = [];
  for (const edge of lineage.edges) {
    const [from, to] = [nodes.get(edge.source), nodes.get(edge.target)];
    if (from && to) links.push({ edge, from, to, path: pathOf(from, to) });
  }
  return {
    nodes: [...nodes.values()],
    links,
    width: 2 * MARGIN + Math.max(0, layers.length * (NODE_WIDTH + GAP_X) - GAP_X),
    height: 2 * MARGIN + Math.max(0, most * (NODE_HEIGHT + GAP_Y) - GAP_Y),
  };
}

/** Most columns before and after the asked table: tables that are made from each other have no last one. */
const MOST_LEVELS = 12;

/** Columns of tables: behind all tables that their rows come from, as far as these are on the same side. */
function levelsOf({ tables, edges }: Pick<Lineage, "tables" | "edges">): Map<string, number> {
  const levels = new Map(tables.map((table) => [keyOf(table), table.step]));
  const steps = new Map(levels);
  for (let round = 0; round < MOST_LEVELS; round++) {
    for (const { source, target } of edges) {
      const [from, to] = [levels.get(source), levels.get(target)];
      if (from === undefined || to === undefined || to > from) continue;
      if ((steps.get(source) ?? 0) >= 0 && (steps.get(target) ?? 0) > 0) {
        levels.set(target, Math.min(MOST_LEVELS, from + 1));
      } else if ((steps.get(target) ?? 0) <= 0 && (steps.get(source) ?? 0) < 0) {
        levels.set(source, Math.max(-MOST_LEVELS, to - 1));
      }
    }
  }
  return levels;
}

/** Order each layer by the mean place of its neighbours, so that few links cross. */
function order(layers: string[][], edges: readonly LineageEdge[]): void {
  const neighbours = new Map<string, string[]>();
  for (const { source, target } of edges) {
    neighbours.set(source, [...(neighbours.get(source) ?? []), target]);
    neighbours.set(target, [...(neighbours.get(target) ?? []), source]);
  }
  const places = new Map<string, number>();
  const place = (layer: string[]) => {
    for (const [row, key] of layer.entries()) places.set(key, row - (layer.length - 1) / 2);
  };
  for (const layer of layers) place(layer);
  const means = (key: string) => {
    const known = (neighbours.get(key) ?? []).map((one) => places.get(one) ?? 0);
    return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : (places.get(key) ?? 0);
  };
  for (let round = 0; round < 4; round++) {
    for (const layer of round % 2 ? [...layers].reverse() : layers) {
      const mean = new Map(layer.map((key) => [key, means(key)]));
      layer.sort((a, b) => (mean.get(a) ?? 0) - (mean.get(b) ?? 0));
      place(layer);
    }
  }
}

function pathOf(from: Node, to: Node): string {
  const [x1, y1] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2];
  const [x2, y2] = [to.x - 6, to.y + NODE_HEIGHT / 2];
  // A link within a layer, or backwards, leaves and comes in arcs.
  const bend = Math.max(GAP_X / 2, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
