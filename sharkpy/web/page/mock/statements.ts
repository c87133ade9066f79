/** Answers of `POST /v1/sql` with invented rows. The words of a statement choose them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorOf, HOSTILE } from "./data.ts";
import { generator } from "./random.ts";

interface Answer {
  columns: { name: string; type: string }[];
  amount: number;
  row: (index: number) => unknown[];
}

const CARRIERS = ["AA", "AS", "B6", "DL", "EV", "F9", "HA", "MQ", "UA", "US", "VX", "WN"];

function answerTo(text: string, isHostile: boolean): Answer {
  const random = generator(11);
  const amount = Number(/LIMIT\s+(\d+)/i.exec(text)?.[1] ?? 0);
  if (isHostile) {
    return {
      columns: [
        { name: HOSTILE, type: "string" },
        { name: "n", type: "int" },
      ],
      amount: 20,
      row: (index) => [HOSTILE, index],
    };
  }
  if (/AS bucket/.test(text)) {
    return {
      columns: ["bucket", "n", "lo", "hi"].map((name) => ({ name, type: "double" })),
      amount: 24,
      row: (index) => [index, Math.floor(9000 * Math.exp(-(((index - 7) / 5) ** 2))), 0.5, 9840],
    };
  }
  if (/ORDER BY n DESC/.test(text)) {
    return {
      columns: [
        { name: "v", type: "string" },
        { name: "n", type: "bigint" },
      ],
      amount: 10,
      row: (index) => [index === 3 ? null : `${(index + 1) * 19}.90`, 9000 - index * 740],
    };
  }
  if (/GROUP BY carrier/i.test(text)) {
    return {
      columns: [
        { name: "carrier", type: "string" },
        { name: "flights", type: "bigint" },
        { name: "delay", type: "double" },
      ],
      amount: CARRIERS.length,
      row: (index) => [CARRIERS[index], Math.floor(4000 + 50_000 * random()), 4 + 16 * random()],
    };
  }
  if (/GROUP BY day/i.test(text)) {
    return {
      columns: [
        { name: "day", type: "date" },
        { name: "flights", type: "bigint" },
      ],
      amount: 365,
      row: (index) => [
        new Date(Date.UTC(2013, 0, 1 + index)).toISOString().slice(0, 10),
        Math.floor(880 + 60 * Math.sin(index / 58) - (index % 7 > 4 ? 190 : 0) + 40 * random()),
      ],
    };
  }
  return {
    columns: [
      { name: "id", type: "bigint" },
      { name: "time", type: "timestamp" },
      { name: "carrier", type: "string" },
      { name: "dep_delay", type: "double" },
      { name: "distance", type: "int" },
      { name: "note", type: "string" },
    ],
    amount: amount || 5000,
    row: (index) => [
      // JSON has no exact numbers of this size.
      String(9007199254740993n + BigInt(index)),
      new Date(Date.UTC(2013, 0, 1, 0, index)).toISOString().slice(0, 19).replace("T", " "),
      CARRIERS[Math.floor(random() * CARRIERS.length)],
      Math.round(400 * random() ** 3) - 12,
      Math.floor(100 + 2500 * random()),
      index % 7 ? `flight ${index}` : null,
    ],
  };
}

export async function answerStatement(
  body: Record<string, unknown>,
  request: IncomingMessage,
  response: ServerResponse,
  isHostile: boolean,
): Promise<void> {
  const text = String(body.statement);
  const begun = Date.now();
  if (/fligths/.test(text)) {
    response.writeHead(400, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ error: errorOf(text) }));
    return;
  }
  let isGone = false;
  response.on("close", () => {
    isGone = true;
  });
  response.writeHead(200, { "Content-Type": "application/x-ndjson" });
  const answer = answerTo(text, isHostile);
  response.write(`${JSON.stringify({ query_id: "2026-100000", session_id: "s-1", columns: answer.columns })}\n`);
  for (let from = 0; from < answer.amount && !isGone; from += 2000) {
    let lines = "";
    for (let index = from; index < Math.min(answer.amount, from + 2000); index++) {
      lines += `${JSON.stringify(answer.row(index))}\n`;
    }
    if (!response.write(lines)) await new Promise((resume) => response.once("drain", resume));
    if (/slow/.test(text)) await new Promise((resume) => setTimeout(resume, 300));
  }
  if (/break/.test(text)) response.write(`${JSON.stringify({ error: errorOf(text) })}\n`);
  else
    response.write(
      `${JSON.stringify({ rows: answer.amount, has_more: false, rows_written: null, seconds: (Date.now() - begun) / 1000 })}\n`,
    );
  response.end();
  request.resume();
}
