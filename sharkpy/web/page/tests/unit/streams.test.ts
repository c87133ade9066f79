import { describe, expect, test } from "vitest";
import { makeStream, makeStreams } from "../../mock/streams.ts";
import type { StreamEdge, StreamNode } from "../../src/pages/streams/api";
import { BOX_WIDTH, drawGraph, layersOf } from "../../src/pages/streams/graph_layout";
import { lagOf, rateOf } from "../../src/pages/streams/series";
import { partitionText, quotedName, statementOf, triggerText, watermarkText } from "../../src/pages/streams/words";

const usual = makeStreams(false);
const node = (name: string): StreamNode => {
  const found = usual.nodes.find((one) => one.name === `default.${name}`);
  if (!found) throw new Error(name);
  return found;
};

describe("the graph", () => {
  test("each edge leads to a later layer", () => {
    const layers = layersOf(usual.nodes, usual.edges);
    expect(layers.size).toBe(usual.nodes.length);
    for (const edge of usual.edges) expect(layers.get(edge.source)).toBeLessThan(layers.get(edge.target) ?? 0);
    expect(layers.get("default.archive")).toBe(4);
  });

  test("boxes do not overlap, and curves touch them", () => {
    const { boxes, curves, width, height } = drawGraph(usual.nodes, usual.edges);
    for (const [place, box] of boxes.entries()) {
      expect(box.x + BOX_WIDTH).toBeLessThanOrEqual(width);
      expect(box.y).toBeLessThan(height);
      for (const other of boxes.slice(place + 1)) {
        expect(box.x !== other.x || Math.abs(box.y - other.y) > 76).toBe(true);
      }
    }
    expect(curves).toHaveLength(usual.edges.length);
  });

  test("a circle and an unknown end do not stop the drawing", () => {
    const edge = (source: string, target: string): StreamEdge => ({
      source: `default.${source}`,
      target: `default.${target}`,
      kind: "writes",
      lag: null,
      rows_per_second: null,
    });
    const edges = [...usual.edges, edge("archive", "clicks"), edge("hits", "hits"), edge("hits", "nowhere")];
    const drawing = drawGraph(usual.nodes, edges);
    expect(drawing.boxes).toHaveLength(usual.nodes.length);
    expect(drawGraph([], []).boxes).toEqual([]);
  });

  test("a thousand nodes are laid out quickly", () => {
    const nodes = Array.from({ length: 1000 }, (_, place) => ({ ...node("hits"), name: `default.n${place}` }));
    const edges = nodes.slice(1).map((one, place) => ({
      source: `default.n${Math.floor(place / 3)}`,
      target: one.name,
      kind: "reads" as const,
      lag: 0,
      rows_per_second: null,
    }));
    const begun = performance.now();
    drawGraph(nodes, edges);
    expect(performance.now() - begun).toBeLessThan(2000);
  });
});

describe("series", () => {
  const stream = makeStream(usual, "default.hits", 1_800_000_000_000);

  test("rows are counted once, in equal spans", () => {
    const epochs = stream?.epochs ?? [];
    const now = 1_800_000_000 + 600;
    const { times, rates } = rateOf(epochs, now);
    const span = (times[1] ?? 0) - (times[0] ?? 0);
    const rows = epochs.reduce((sum, one) => sum + one.rows, 0);
    expect(rates.reduce((sum, rate) => sum + rate * span, 0)).toBeCloseTo(rows);
    expect(rates.length).toBeLessThanOrEqual(150);
    expect(rates.at(-1)).toBe(0);
    expect(rateOf([], now)).toEqual({ times: [], rates: [] });
  });

  test("lag is of epochs and of looks, in order", () => {
    const epochs = stream?.epochs ?? [];
    const looked = { time: Date.parse(epochs[2]?.began ?? "") / 1000, lag: 5 };
    const { times, lags } = lagOf(epochs, [looked]);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(lags).toEqual([epochs[0]?.waiting, epochs[1]?.waiting, 5]);
  });
});

test("triggers are words", () => {
  expect(triggerText("EVERY 0 MILLISECONDS")).toBe("as soon as there is input");
  expect(triggerText("EVERY 5000 MILLISECONDS")).toBe("every 5.00 s");
  expect(triggerText("AVAILABLE NOW")).toBe("available now");
});

test("names are quoted in statements", () => {
  expect(quotedName("default.a`b.c")).toBe("`default`.`a``b.c`");
  expect(statementOf("PAUSE", node("hits"))).toBe("PAUSE CONTINUOUS TABLE `default`.`hits`");
  expect(statementOf("RESUME", node("alerts"))).toBe("RESUME CONTINUOUS SINK `default`.`alerts`");
  expect(statementOf("ROLLBACK", node("large_orders"), 7)).toBe(
    "ROLLBACK CONTINUOUS INSERT `default`.`large_orders` TO EPOCH 7",
  );
});

describe("watermarks", () => {
  const found = makeStream(usual, "default.revenue", 0);
  const words = found?.watermarks.map((mark) => watermarkText(mark, found.held_back_by));

  test("the stream that holds them back is named, with its distance", () => {
    expect(words).toEqual([
      "latest row 2026-05-01 10:21:40",
      "latest row 2026-05-01 10:21:00 · 40.0 s earlier than the furthest stream · holds the watermark back",
    ]);
  });

  test("an idle stream holds nothing back, even before its first row", () => {
    const mark = { stream: "a.b", time: null, latest: null, lag_seconds: null, is_idle: true };
    expect(watermarkText(mark, null)).toBe("no row has come · idle, so it does not hold the others back");
  });

  test("a partition before the watermark is marked", () => {
    const read = found?.reads.find((one) => one.slowest_partition !== null);
    expect(read?.partitions.map(partitionText)).toEqual([
      "latest 2026-05-01 10:21:00",
      "latest 2026-05-01 10:19:30, 1 min 30 s earlier than the furthest partition, before the watermark",
      "latest 2026-05-01 10:20:58, 2.00 s earlier than the furthest partition",
    ]);
  });
});
