/** Places of nodes in a drawing: rows flow from left to right. */
import type { StreamEdge, StreamNode } from "./api";

export const BOX_WIDTH = 212;
export const BOX_HEIGHT = 76;
const GAP_X = 92;
const GAP_Y = 22;
const MARGIN = 16;
const PASSES = 6;

export interface Box {
  node: StreamNode;
  layer: number;
  x: number;
  y: number;
}

export interface Curve {
  edge: StreamEdge;
  path: string;
  /** Middle of the curve. */
  x: number;
  y: number;
}

export interface GraphDrawing {
  boxes: Box[];
  curves: Curve[];
  width: number;
  height: number;
}

/** Layer of each node: one after the last of the nodes before it. Edges that close a circle do not count. */
export function layersOf(nodes: readonly StreamNode[], edges: readonly StreamEdge[]): Map<string, number> {
  const before = new Map<string, string[]>(nodes.map((node) => [node.name, []]));
  for (const edge of edges) before.get(edge.target)?.push(edge.source);
  const layers = new Map<string, number>();
  const open = new Set<string>();
  const layerOf = (name: string): number => {
    const known = layers.get(name);
    if (known !== undefined) return known;
    open.add(name);
    let layer = 0;
    for (const source of before.get(name) ?? []) {
      if (!open.has(source) && before.has(source)) layer = Math.max(layer, layerOf(source) + 1);
    }
    open.delete(name);
    layers.set(name, layer);
    return layer;
  };
  for (const node of nodes) layerOf(node.name);
  return layers;
}

/** Columns of nodes, each in an order in which edges cross rarely: by the mean place of the neighbours. */
function columnsOf(nodes: readonly StreamNode[], edges: readonly StreamEdge[]): StreamNode[][] {
  const layers = layersOf(nodes, edges);
  const columns: StreamNode[][] = [];
  for (const node of nodes) {
    const layer = layers.get(node.name) ?? 0;
    columns[layer] ??= [];
    columns[layer].push(node);
  }
  const neighbours = new Map<string, string[]>(nodes.map((node) => [node.name, []]));
  for (const edge of edges) {
    neighbours.get(edge.source)?.push(edge.target);
    neighbours.get(edge.target)?.push(edge.source);
  }
  const places = new Map<string, number>();
  const note = () => {
    for (const column of columns) {
      for (const [place, node] of column.entries()) places.set(node.name, place - column.length / 2);
    }
  };
  note();
  for (let pass = 0; pass < PASSES; pass++) {
    for (const column of columns) {
      const mean = new Map<string, number>();
      for (const node of column) {
        const near = neighbours.get(node.name) ?? [];
        const sum = near.reduce((total, name) => total + (places.get(name) ?? 0), 0);
        mean.set(node.name, near.length ? sum / near.length : (places.get(node.name) ?? 0));
      }
      column.sort((a, b) => (mean.get(a.name) ?? 0) - (mean.get(b.name) ?? 0) || (a.name < b.name ? -1 : 1));
    }
    note();
  }
  return columns;
}

export function drawGraph(nodes: readonly StreamNode[], edges: readonly StreamEdge[]): GraphDrawing {
  const columns = columnsOf(nodes, edges);
  const tallest = Math.max(0, ...columns.map((column) => column.length));
  const heightOf = (amount: number) => amount * (BOX_HEIGHT + GAP_Y) - GAP_Y;
  const boxes = columns.flatMap((column, layer) =>
    column.map((node, place) => ({
      node,
      layer,
      x: MARGIN + layer * (BOX_WIDTH + GAP_X),
      y: MARGIN + (heightOf(tallest) - heightOf(column.length)) / 2 + place * (BOX_HEIGHT + GAP_Y),
    })),
  );
  const byName = new Map(boxes.map((box) => [box.node.name, box]));
  const curves = edges.flatMap((edge) => {
    const [from, to] = [byName.get(edge.source), byName.get(edge.target)];
    return from && to ? [curveOf(edge, from, to)] : [];
  });
  return {
    boxes,
    curves,
    width: 2 * MARGIN + columns.length * (BOX_WIDTH + GAP_X) - (columns.length ? GAP_X : 0),
    height: 2 * MARGIN + Math.max(0, heightOf(tallest)),
  };
}

function curveOf(edge: StreamEdge, from: Box, to: Box): Curve {
  const [x1, y1] = [from.x + BOX_WIDTH, from.y + BOX_HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + BOX_HEIGHT / 2];
  // An edge that leads back is drawn below the boxes.
  const bend = to.layer > from.layer ? Math.max(36, (x2 - x1) / 2) : 70;
  const down = to.layer > from.layer ? 0 : BOX_HEIGHT;
  return {
    edge,
    path: `M${x1},${y1}C${x1 + bend},${y1 + down} ${x2 - bend},${y2 + down} ${x2},${y2}`,
    x: (x1 + x2) / 2,
    y: (y1 + y2) / 2 + 0.75 * down,
  };
}
