/** Chart of a result: uPlot draws lines, bars, points and histograms, a canvas the heat map. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, shortCount } from "../../format";
import { Empty } from "../../parts/parts";
import { colours, isDark, resolved } from "../../theme";
import {
  AGGREGATES,
  type Aggregate,
  CHART_KINDS,
  type ChartChoice,
  type ChartKind,
  chooseChart,
  gridOf,
  groupedBars,
  histogramOf,
  MOST_POINTS,
  pointsOf,
} from "./chart_choice";
import { drawHeatMap } from "./heat_map";
import { kindOf, type ResultTable } from "./result_table";

const LIGHT = [
  "#0b7285",
  "#c2410c",
  "#6741d9",
  "#2b8a3e",
  "#c2255c",
  "#1864ab",
  "#946200",
  "#5f3dc4",
  "#087f5b",
  "#495057",
];
const DARK = [
  "#45bfd3",
  "#ff9a6b",
  "#b197fc",
  "#69db7c",
  "#f783ac",
  "#74c0fc",
  "#ffd43b",
  "#9775fa",
  "#63e6be",
  "#adb5bd",
];

interface Drawing {
  data: uPlot.AlignedData;
  options: Omit<uPlot.Options, "width" | "height">;
  note: string | null;
}

function axes(element: HTMLElement, labels: string[] | null): uPlot.Axis[] {
  const [stroke, line] = [resolved(element, "--text-2"), resolved(element, "--line")];
  const usual = {
    stroke,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
    font: "12px system-ui",
  };
  const x: uPlot.Axis = labels
    ? {
        ...usual,
        grid: { show: false },
        splits: (plot) =>
          labels.map((_, place) => place).filter((place) => place % Math.ceil(labels.length / (plot.width / 70)) === 0),
        values: (_, splits) => splits.map((place) => cut(labels[place] ?? "", 12)),
      }
    : { ...usual };
  return [x, { ...usual, size: 64, values: (_, splits) => splits.map(tick) }];
}

/** A count on an axis, without zeros at its end: 7 k, not 7.00 k. */
function tick(value: number): string {
  return shortCount(value).replace(/\.(\d*?)0+(?!\d)/, (_, digits: string) => (digits ? `.${digits}` : ""));
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function seriesColour(place: number): string {
  const palette = isDark() ? DARK : LIGHT;
  return palette[place % palette.length] ?? "#888";
}

function left(amount: number): string | null {
  return amount ? `${count(amount)} rows or groups are left out: there are too many groups.` : null;
}

function drawLinesOrBars(table: ResultTable, choice: ChartChoice, element: HTMLElement): Drawing {
  const x = table.columns[choice.x];
  const isOrdinal = choice.kind === "bar" ? !x || kindOf(x) !== "time" : !x || kindOf(x) === "category";
  const grid = gridOf(table, choice, isOrdinal);
  const isTime = !isOrdinal && x !== undefined && kindOf(x) === "time";
  const y = table.columns[choice.y]?.name ?? "";
  // Bars on an axis of time stay on top of each other: its places are not one apart.
  const isGrouped = choice.kind === "bar" && isOrdinal && grid.series.length > 1;
  const bars = uPlot.paths.bars?.({ size: isGrouped ? [0.9, 60] : [0.72, 90], radius: 0.08 });
  const drawn = isGrouped ? groupedBars(grid) : grid;
  const series: uPlot.Series[] = grid.series.map((name, place) => {
    const colour = seriesColour(place);
    // Each bar has a place of its own; the legend shows the values of the whole group.
    const value = (_: uPlot, __: number, ___: number, at: number | null) =>
      at === null ? "--" : count(grid.values[place]?.[Math.floor(at / grid.series.length)]);
    const usual = { label: name || `${choice.aggregate} of ${y}`, stroke: colour, width: 1.8, spanGaps: false };
    if (choice.kind !== "bar") return { ...usual, points: { show: grid.xs.length < 60 } };
    return {
      ...usual,
      width: 0,
      fill: grid.series.length > 1 && !isGrouped ? `${colour}b0` : colour,
      points: { show: false },
      ...(isGrouped ? { value } : {}),
      ...(bars ? { paths: bars } : {}),
    };
  });
  return {
    data: [drawn.xs, ...drawn.values],
    note: left(grid.left),
    options: {
      scales: {
        x: { time: isTime, ...(isOrdinal ? { range: () => [-0.7, grid.xs.length - 0.3] as uPlot.Range.MinMax } : {}) },
        ...(choice.kind === "bar" ? { y: { range: (_, least, most) => zeroBased(least, most) } } : {}),
      },
      series: [
        {
          label: x?.name ?? "",
          ...(grid.labels
            ? { value: (_: uPlot, at: number | null) => (at === null ? "--" : (grid.labels?.[Math.round(at)] ?? "")) }
            : {}),
        },
        ...series,
      ],
      axes: axes(element, grid.labels?.slice(0, grid.xs.length) ?? null),
    },
  };
}

function zeroBased(least: number, most: number): uPlot.Range.MinMax {
  return [Math.min(0, least * 1.06), Math.max(0, most * 1.06) || 1];
}

function drawHistogram(table: ResultTable, choice: ChartChoice, element: HTMLElement): Drawing {
  const { from, counts, width } = histogramOf(table, choice);
  const column = table.columns[choice.x];
  const bars = uPlot.paths.bars?.({ size: [1, Number.POSITIVE_INFINITY], gap: 1, align: 1 });
  return {
    data: [from, counts],
    note: null,
    options: {
      scales: {
        x: { time: column ? kindOf(column) === "time" : false, range: (_, least, most) => [least, most + width] },
        y: { range: (_, least, most) => zeroBased(least, most) },
      },
      series: [
        { label: column?.name ?? "" },
        { label: "rows", fill: seriesColour(0), width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) },
      ],
      axes: axes(element, null),
    },
  };
}

function drawPoints(table: ResultTable, choice: ChartChoice, element: HTMLElement): Drawing {
  const points = pointsOf(table, choice);
  // uPlot has one list of x for all series: each series has values at its own points alone.
  const order = points.xs.flatMap((xs, place) => xs.map((x, at) => ({ x, y: points.ys[place]?.[at] ?? 0, place })));
  order.sort((a, b) => a.x - b.x);
  const drawn = points.xs.reduce((sum, xs) => sum + xs.length, 0);
  const x = table.columns[choice.x];
  return {
    data: [
      order.map((point) => point.x),
      ...points.series.map((_, place) => order.map((point) => (point.place === place ? point.y : null))),
    ],
    note: points.total > MOST_POINTS ? `${count(drawn)} of ${count(points.total)} points are drawn.` : null,
    options: {
      scales: { x: { time: x ? kindOf(x) === "time" : false } },
      series: [
        { label: x?.name ?? "" },
        ...points.series.map((name, place) => ({
          label: name || (table.columns[choice.y]?.name ?? ""),
          stroke: seriesColour(place),
          paths: () => null,
          points: { show: true, size: drawn > 3000 ? 3 : 5, fill: seriesColour(place), width: 0 },
        })),
      ],
      axes: axes(element, null),
    },
  };
}

function draw(table: ResultTable, choice: ChartChoice, element: HTMLElement): Drawing {
  if (choice.kind === "histogram") return drawHistogram(table, choice, element);
  if (choice.kind === "scatter") return drawPoints(table, choice, element);
  return drawLinesOrBars(table, choice, element);
}

function useSize(element: { current: HTMLElement | null }): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSize({ width: Math.floor(entry.contentRect.width), height: Math.floor(entry.contentRect.height) });
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

const LEGEND = 34;

export function Chart({ table, version }: { table: ResultTable; version: number }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` counts changes of the table
  const chosen = useMemo(() => chooseChart(table), [table, version]);
  const [changed, setChanged] = useState<Partial<ChartChoice>>({});
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const [note, setNote] = useState<string | null>(null);
  const choice = useMemo(() => (chosen ? { ...chosen, ...changed } : null), [chosen, changed]);
  const round = colours.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` and `round` count changes of rows and colours
  useEffect(() => {
    const element = frame.current;
    if (!element || !choice || size.width < 50 || size.height < 50) return;
    if (choice.kind === "heat map") {
      const { canvas, left: omitted } = drawHeatMap(table, choice, size, (name) => resolved(element, name));
      element.append(canvas);
      setNote(left(omitted));
      return () => canvas.remove();
    }
    const { data, options, note: told } = draw(table, choice, element);
    const hasLegend = data.length > 1;
    const plot = new uPlot(
      {
        ...options,
        ...size,
        tzDate: (time) => uPlot.tzDate(new Date(time * 1000), "Etc/UTC"),
        height: Math.max(80, size.height - (hasLegend ? LEGEND : 0)),
        padding: [14, 16, 0, 0],
      },
      data,
      element,
    );
    setNote(told);
    return () => plot.destroy();
  }, [table, version, choice, size, round]);
  if (!choice) {
    return (
      <Empty icon="chart" title="No chart fits this result">
        <p>A chart needs at least two rows and a column of numbers.</p>
      </Empty>
    );
  }
  return (
    <div class="chart">
      <ChartBar table={table} choice={choice} onChange={(more) => setChanged({ ...changed, ...more })} />
      {note && <p class="muted chart-note">{note}</p>}
      <div ref={frame} class="chart-frame" role="img" aria-label={`Chart: ${choice.kind}`} />
    </div>
  );
}

function ChartBar(props: { table: ResultTable; choice: ChartChoice; onChange: (more: Partial<ChartChoice>) => void }) {
  const { table, choice, onChange } = props;
  const all = table.columns.map((column, place) => ({ place, name: column.name, kind: kindOf(column) }));
  const numbers = all.filter((column) => column.kind === "number");
  const isHistogram = choice.kind === "histogram";
  const xs = isHistogram || choice.kind === "scatter" ? all.filter((column) => column.kind !== "category") : all;
  return (
    <div class="chart-bar">
      <label>
        Chart
        <select
          class="select"
          value={choice.kind}
          onChange={(event) => onChange(changedKind(table, choice, event.currentTarget.value as ChartKind))}
        >
          {CHART_KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {kind}
            </option>
          ))}
        </select>
      </label>
      <ColumnSelect
        label={isHistogram ? "Values" : "Across"}
        columns={xs}
        value={choice.x}
        onChange={(x) => onChange({ x: x ?? 0 })}
      />
      {!isHistogram && (
        <ColumnSelect
          label={choice.kind === "heat map" ? "Colour" : "Up"}
          columns={numbers}
          value={choice.y}
          onChange={(y) => onChange({ y: y ?? 0 })}
        />
      )}
      {!isHistogram && (
        <ColumnSelect
          label={choice.kind === "heat map" ? "Down" : "Groups"}
          columns={all}
          value={choice.series}
          hasNone
          onChange={(series) => onChange({ series })}
        />
      )}
      {!isHistogram && choice.kind !== "scatter" && (
        <label>
          Combine by
          <select
            class="select"
            value={choice.aggregate}
            onChange={(event) => onChange({ aggregate: event.currentTarget.value as Aggregate })}
          >
            {AGGREGATES.map((aggregate) => (
              <option key={aggregate} value={aggregate}>
                {aggregate}
              </option>
            ))}
          </select>
        </label>
      )}
      {isHistogram && (
        <label>
          Bins
          <input
            class="input"
            type="number"
            min={2}
            max={200}
            value={choice.bins}
            onChange={(event) =>
              onChange({ bins: Math.min(200, Math.max(2, Number(event.currentTarget.value) || 30)) })
            }
          />
        </label>
      )}
    </div>
  );
}

/** Another kind of chart, with columns that it can draw. */
function changedKind(table: ResultTable, choice: ChartChoice, kind: ChartKind): Partial<ChartChoice> {
  const isNumberLike = (place: number) => kindOf(table.columns[place] ?? { name: "", type: "" }) !== "category";
  if (kind !== "histogram" && kind !== "scatter") return { kind };
  const x = isNumberLike(choice.x) && (kind === "scatter" || choice.x !== choice.y) ? choice.x : choice.y;
  if (kind === "histogram") return { kind, x: choice.y };
  const other = table.columns.findIndex((column, place) => kindOf(column) === "number" && place !== x);
  return { kind, x, y: x === choice.y && other >= 0 ? other : choice.y };
}

function ColumnSelect(props: {
  label: string;
  columns: { place: number; name: string }[];
  value: number | null;
  hasNone?: boolean;
  onChange: (place: number | null) => void;
}) {
  return (
    <label>
      {props.label}
      <select
        class="select"
        value={props.value === null ? "" : String(props.value)}
        onChange={(event) =>
          props.onChange(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))
        }
      >
        {props.hasNone && <option value="">none</option>}
        {props.columns.map((column) => (
          <option key={column.place} value={String(column.place)}>
            {column.name}
          </option>
        ))}
      </select>
    </label>
  );
}
