/** Lines over time that move on with new data. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "../styles/live_chart.css";
import { colours, resolved } from "../theme";

export interface Line {
  label: string;
  /** Name of a colour in tokens.css. */
  colour: string;
  values: readonly (number | null)[];
  isFilled?: boolean;
}

interface Properties {
  title: string;
  /** Seconds since 1970. */
  times: readonly number[];
  lines: readonly Line[];
  text: (value: number | null) => string;
  height?: number;
  /** Least value of the top of the chart. */
  top?: number;
  /** Whether values are bytes, so that the marks of the axis are powers of two. */
  isBytes?: boolean;
}

const POWERS = Array.from({ length: 50 }, (_, place) => 2 ** place);
const PLACES = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const MOMENTS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function optionsOf(
  properties: Properties,
  element: HTMLElement,
  width: number,
  point: (place: number | null) => void,
): uPlot.Options {
  const [stroke, grid] = [resolved(element, "--text-2"), resolved(element, "--line")];
  const axis = { stroke, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  const { text, top = 0 } = properties;
  return {
    width,
    height: properties.height ?? 150,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_, __, most) => [0, Math.max(top, (most ?? 0) * 1.12) || 1] } },
    axes: [
      {
        ...axis,
        size: 30,
        space: 80,
        grid: { show: false },
        values: (_, splits) => {
          const hasSeconds = (splits[1] ?? 60) - (splits[0] ?? 0) < 60;
          return splits.map((time) => (hasSeconds ? MOMENTS : PLACES).format(time * 1000));
        },
      },
      {
        ...axis,
        size: 62,
        space: 34,
        values: (_, splits) => splits.map((value) => text(value)),
        ...(properties.isBytes ? { incrs: POWERS } : {}),
      },
    ],
    series: [
      {},
      ...properties.lines.map((line) => {
        const colour = resolved(element, line.colour);
        return {
          label: line.label,
          stroke: colour,
          width: 1.6,
          spanGaps: true,
          points: { show: false },
          ...(line.isFilled ? { fill: `color-mix(in srgb, ${colour} 16%, transparent)` } : {}),
        };
      }),
    ],
  };
}

export function LiveChart(properties: Properties) {
  const { title, times, lines, text } = properties;
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [width, setWidth] = useState(0);
  /** Place of the pointer among the times; null if it is elsewhere. */
  const [pointed, point] = useState<number | null>(null);
  useEffect(() => {
    if (!frame.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const data = [times, ...lines.map((line) => line.values)] as unknown as uPlot.AlignedData;
  const hasLines = times.length > 1;
  const shape = `${colours.value} ${hasLines} ${lines.map((line) => `${line.label} ${line.colour}`).join()}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next effect gives the drawing its data
  useEffect(() => {
    if (!frame.current || width < 40 || !hasLines) return;
    const made = new uPlot(optionsOf(properties, frame.current, width, point), data, frame.current);
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [width, shape]);
  useEffect(() => {
    plot.current?.setData(data);
  });
  const shown = pointed === null || pointed >= times.length ? times.length - 1 : pointed;
  const time = times[shown];
  return (
    <figure class="card live-chart">
      <figcaption>
        {title}
        <span>{pointed !== null && time !== undefined && MOMENTS.format(time * 1000)}</span>
      </figcaption>
      <div ref={frame} class="live-chart-frame" role="img" aria-label={title}>
        {!hasLines && <p class="muted">The line begins with the second point</p>}
      </div>
      <ul>
        {lines.map((line) => (
          <li key={line.label}>
            <i style={{ background: `var(${line.colour})` }} />
            {line.label} <b>{text(line.values[shown] ?? null)}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}
