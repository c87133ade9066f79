/** The console of the server at SHARKPY_SERVER, which `tests/web/browser/filled_server.py` has filled. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { type Console, LOOKS, type Look, type OpenedPage, open, picture, seriousFindings } from "../browser/console.ts";

export { startOnServer } from "../browser/console.ts";
export const LIGHT = LOOKS[0] as Look;

/** Open a page as a user, who has logged in. */
export function openAs(at: Console, user: string, hash: string, look = LIGHT): Promise<OpenedPage> {
  return open(at, look, hash, undefined, async (context) => {
    const answer = await context.request.post(`${at.address}api/v1/login`, {
      data: { user, password: `secret ${user}` },
    });
    expect(answer.status()).toBe(200);
  });
}

/** Answer to a request of a user. */
export function ask(at: Console, user: string, path: string, body?: object, accept = "application/json") {
  const authorization = `Basic ${Buffer.from(`${user}:secret ${user}`).toString("base64")}`;
  return fetch(`${at.address}${path}`, {
    method: body ? "POST" : "GET",
    headers: { Authorization: authorization, "Content-Type": "application/json", Accept: accept },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

/** Lines of the answer to a statement: columns, rows, and the summary or an error. */
export async function run(at: Console, user: string, statement: string, settings: Record<string, string> = {}) {
  const answer = await ask(at, user, "v1/sql", { statement, settings });
  return (await answer.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Id of a statement that has run to its end. */
export async function runId(at: Console, user: string, statement: string, settings: Record<string, string> = {}) {
  const [head, ...rest] = await run(at, user, statement, settings);
  expect(rest.at(-1)).toHaveProperty("seconds");
  return String(head.query_id);
}

/** Type a text into the worksheet instead of its text. */
export async function type(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

export async function runTyped(page: Page, text: string): Promise<void> {
  await type(page, text);
  await page.keyboard.press("Control+Enter");
}

/** Check a page that shows its content, and take its picture. */
export async function check({ page, problems }: OpenedPage, name: string): Promise<void> {
  await page.waitForTimeout(150);
  const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  const findings = await seriousFindings(page);
  await picture(page, `server-${name}`);
  expect({ findings, problems, wide }).toEqual({ findings: [], problems: [], wide: 0 });
}
