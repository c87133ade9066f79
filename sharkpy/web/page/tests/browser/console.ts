/** A browser with the built page over the mock server, and what each test of a page checks. */
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { preview } from "vite";

export const SCREENSHOTS = fileURLToPath(new URL("../../screenshots/", import.meta.url));
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const FLAGS =
  "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export interface Look {
  name: string;
  isDark: boolean;
  width: number;
  height: number;
}

export const LOOKS: readonly Look[] = [
  { name: "light", isDark: false, width: 1440, height: 900 },
  { name: "dark", isDark: true, width: 1440, height: 900 },
  { name: "phone", isDark: false, width: 390, height: 844 },
];

export interface Console {
  browser: Browser;
  address: string;
  close: () => Promise<void>;
}

async function startBrowser(): Promise<Browser> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: FLAGS.split(" ") });
}

export async function startConsole(): Promise<Console> {
  const server = await preview({ preview: { port: 0, host: "127.0.0.1" }, logLevel: "silent" });
  const browser = await startBrowser();
  return {
    browser,
    address: server.resolvedUrls?.local[0] ?? "",
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/** A browser for the server at SHARKPY_SERVER, which has a console. */
export async function startOnServer(): Promise<Console> {
  const address = process.env.SHARKPY_SERVER;
  if (!address) throw new Error("SHARKPY_SERVER is not the address of a server");
  const browser = await startBrowser();
  return { browser, address: `${address.replace(/\/$/, "")}/`, close: () => browser.close() };
}

export interface OpenedPage {
  page: Page;
  context: BrowserContext;
  /** Messages of errors, and what the content policy has blocked. */
  problems: string[];
}

/** Open a page. `cookie` chooses what the mock server answers; `prepare` works before the page is asked for. */
export async function open(
  at: Console,
  look: Look,
  hash: string,
  cookie?: string,
  prepare?: (context: BrowserContext) => Promise<unknown>,
): Promise<OpenedPage> {
  const context = await at.browser.newContext({
    viewport: { width: look.width, height: look.height },
    colorScheme: look.isDark ? "dark" : "light",
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  if (cookie) await context.addCookies([{ name: cookie, value: "1", url: at.address }]);
  await prepare?.(context);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  await page.exposeFunction("reportProblem", (text: string) => problems.push(text));
  // When a selection is typed over, Chromium tries to keep its look with a style attribute. Without it, nothing changes.
  await page.addInitScript(
    `document.addEventListener("securitypolicyviolation", (event) => {
      if (!event.target.matches?.(".editor")) reportProblem(event.violatedDirective + " " + event.blockedURI);
    });`,
  );
  await page.goto(`${at.address}${hash}`);
  return { page, context, problems };
}

interface AxeFinding {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Findings of axe that are serious or critical. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // The content policy stops scripts in the page; the browser's own evaluation is not bound by it.
  const { readFileSync } = await import("node:fs");
  await page.evaluate(readFileSync(AXE, "utf8"));
  const violations = (await page.evaluate(
    "axe.run({ resultTypes: ['violations'] }).then((result) => result.violations)",
  )) as AxeFinding[];
  return violations
    .filter((finding) => finding.impact === "serious" || finding.impact === "critical")
    .flatMap((finding) =>
      finding.nodes.map(
        (node) => `${finding.id}: ${node.html.slice(0, 160)} ${node.failureSummary.replace(/\s+/g, " ").slice(0, 200)}`,
      ),
    );
}

export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png`, caret: "initial" });
}
