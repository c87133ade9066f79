/** Heat map: a cell for each pair of categories, as dark as its value is high. */
import { shortCount } from "../../format";
import { type ChartChoice, gridOf } from "./chart_choice";
import type { ResultTable } from "./result_table";

const LEFT = 130;
const BOTTOM = 40;
const TOP = 10;
const RIGHT = 12;

export function drawHeatMap(
  table: ResultTable,
  choice: ChartChoice,
  size: { width: number; height: number },
  colour: (name: string) => string,
): { canvas: HTMLCanvasElement; left: number } {
  const grid = gridOf(table, choice, true);
  const canvas = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  canvas.width = size.width * ratio;
  canvas.height = size.height * ratio;
  canvas.style.width = `${size.width}px`;
  canvas.style.height = `${size.height}px`;
  const context = canvas.getContext("2d");
  if (!context) return { canvas, left: grid.left };
  context.scale(ratio, ratio);
  const known = grid.values.flat().filter((value) => value !== null);
  const [least, most] = [known.reduce((a, b) => Math.min(a, b), 0), known.reduce((a, b) => Math.max(a, b), 0)];
  const cellWidth = (size.width - LEFT - RIGHT) / Math.max(1, grid.xs.length);
  const cellHeight = (size.height - TOP - BOTTOM) / Math.max(1, grid.series.length);
  const [accent, ground, text, surface] = ["--accent", "--sunken", "--text-2", "--surface"].map(colour);
  context.font = "11.5px system-ui";
  context.textBaseline = "middle";
  for (const [row, values] of grid.values.entries()) {
    for (const [column, value] of values.entries()) {
      const [x, y] = [LEFT + column * cellWidth, TOP + row * cellHeight];
      context.globalAlpha = 1;
      context.fillStyle = ground ?? "";
      context.fillRect(x, y, cellWidth - 1, cellHeight - 1);
      if (value === null) continue;
      const share = most > least ? (value - least) / (most - least) : 1;
      context.globalAlpha = 0.06 + 0.94 * share;
      context.fillStyle = accent ?? "";
      context.fillRect(x, y, cellWidth - 1, cellHeight - 1);
      if (cellWidth < 44 || cellHeight < 18) continue;
      context.globalAlpha = 1;
      context.fillStyle = share > 0.55 ? (surface ?? "") : (text ?? "");
      context.textAlign = "center";
      context.fillText(shortCount(value), x + cellWidth / 2, y + cellHeight / 2);
    }
  }
  context.globalAlpha = 1;
  context.fillStyle = text ?? "";
  context.textAlign = "right";
  const everyRow = Math.ceil(14 / cellHeight);
  for (const [row, name] of grid.series.entries()) {
    if (row % everyRow === 0) context.fillText(cut(name, 18), LEFT - 8, TOP + (row + 0.5) * cellHeight);
  }
  context.textAlign = "center";
  const everyColumn = Math.ceil(60 / cellWidth);
  for (const [column, place] of grid.xs.entries()) {
    if (column % everyColumn) continue;
    context.fillText(cut(grid.labels?.[place] ?? "", 12), LEFT + (column + 0.5) * cellWidth, size.height - BOTTOM / 2);
  }
  return { canvas, left: grid.left };
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
