/** Small bars of one value per task or bucket. Values above three medians are marked. */
import { skewOf } from "./plan_layout";

const MOST_BARS = 120;
const HEIGHT = 44;

/** At most `most` values: each is the largest of its neighbours. */
export function condensed(values: readonly number[], most: number): number[] {
  const step = Math.ceil(values.length / most);
  if (step <= 1) return [...values];
  const largest: number[] = [];
  for (let from = 0; from < values.length; from += step) largest.push(Math.max(...values.slice(from, from + step)));
  return largest;
}

export function Bars(props: { values: readonly number[]; format: (value: number) => string; label: string }) {
  const values = condensed(props.values, MOST_BARS);
  const largest = Math.max(...values, 1e-12);
  const median = largest / (skewOf(props.values) ?? 1);
  const width = 240 / values.length;
  return (
    <figure class="bars">
      <svg viewBox={`0 0 240 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={props.label}>
        {values.map((value, index) => {
          const height = Math.max(1, (value / largest) * HEIGHT);
          return (
            <rect
              key={index}
              class={value >= 3 * median ? "high" : undefined}
              x={index * width}
              width={Math.max(0.5, width - Math.min(1.5, width / 4))}
              y={HEIGHT - height}
              height={height}
            />
          );
        })}
      </svg>
      <figcaption>
        {props.values.length} values, largest {props.format(largest)}, median {props.format(median)}
      </figcaption>
    </figure>
  );
}
