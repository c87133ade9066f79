/** Epochs as lines over time. */
import type { Epoch } from "./api";

const POINTS = 150;

/** Time at which an epoch ended, in seconds since 1970. */
export function endOf(epoch: Epoch): number {
  return Date.parse(epoch.began) / 1000 + (epoch.seconds ?? 0);
}

/** Rows per second in equal spans of time, from the first epoch to `now` (seconds since 1970). */
export function rateOf(epochs: readonly Epoch[], now: number): { times: number[]; rates: number[] } {
  const first = epochs[0];
  if (!first) return { times: [], rates: [] };
  const begin = Math.floor(endOf(first));
  const span = Math.max(1, Math.ceil((now - begin) / POINTS));
  const amount = Math.max(1, Math.floor((now - begin) / span));
  const rates = new Array<number>(amount).fill(0);
  for (const epoch of epochs) {
    const place = Math.floor((endOf(epoch) - begin) / span);
    if (place >= 0 && place < amount) rates[place] = (rates[place] ?? 0) + epoch.rows / span;
  }
  return { times: rates.map((_, place) => begin + (place + 1) * span), rates };
}

export interface Observed {
  time: number;
  lag: number;
}

/** Items that waited when epochs began, until the page has looked itself, and what it has seen since. */
export function lagOf(epochs: readonly Epoch[], seen: readonly Observed[]): { times: number[]; lags: number[] } {
  const first = seen[0]?.time ?? Number.POSITIVE_INFINITY;
  const known = epochs.flatMap((epoch) => {
    const time = Date.parse(epoch.began) / 1000;
    return epoch.waiting === null || time >= first ? [] : [{ time, lag: epoch.waiting }];
  });
  const all = [...known, ...seen];
  return { times: all.map((one) => one.time), lags: all.map((one) => one.lag) };
}
