// What a browser test works with: pages that watch themselves, the API beside them, and axe.
import axe from "axe-core";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import type { Server } from "./server";

export const SCREENSHOTS = resolve(import.meta.dirname, "../screenshots");

let browser: Browser;
const faults: string[] = [];

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  browser = await chromium.connect(inject("chromium"));
});

afterEach(async () => {
  await Promise.all(browser.contexts().map((context) => context.close()));
  expect(faults.splice(0)).toEqual([]);
});

afterAll(async () => {
  await browser.close();
});

interface PageOptions extends BrowserContextOptions {
  server?: Server;
  /** The token that the tab has; null for a tab that nobody has given one. */
  token?: string | null;
  /** Whether losing the server belongs to the test. */
  mayLoseServer?: boolean;
}

/**
 * A page at `path`. A request to another host, a message of the browser's console (which is also where
 * violations of the content security policy appear) and an uncaught error fail the test.
 */
export async function open(path: string, options: PageOptions = {}): Promise<Page> {
  const { server = inject("server"), mayLoseServer = false, ...rest } = options;
  const { token = server.token, ...more } = rest;
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    ...more,
  });
  if (token !== null) {
    const keep = (kept: string) => sessionStorage.setItem("sessiongraph:token", kept);
    await context.addInitScript(keep, token);
  }
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const { host } = new URL(server.url);
  const check = (url: string): void => {
    if (!/^(data|blob):/.test(url) && new URL(url).host !== host) faults.push(`request to ${url}`);
  };
  context.on("request", (request) => check(request.url()));
  page.on("websocket", (socket) => check(socket.url()));
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    const serious = message.type() === "error" || message.type() === "warning";
    const lost = mayLoseServer && /ERR_CONNECTION|WebSocket/.test(message.text());
    const refused = token !== server.token && / 401 /.test(message.text());
    if (serious && !lost && !refused) faults.push(`console: ${message.text()}`);
  });
  await page.goto(server.url + path);
  return page;
}

/** Sends one operation to the API, as another client would. */
export async function api<T = Record<string, unknown>>(
  query: string,
  variables: Record<string, unknown> = {},
  server = inject("server"),
): Promise<T> {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${server.token}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: T; errors?: { message: string }[] };
  if (errors) throw new Error(errors.map(({ message }) => message).join("; "));
  return data;
}

export async function createSession(id: string, more: Record<string, unknown> = {}): Promise<void> {
  await api(
    "mutation ($input: CreateSessionInput!) { createSession(input: $input) { session { id } } }",
    { input: { id, cwd: "/work/tests", ...more } },
  );
}

export interface NewEvent {
  type: string;
  data: unknown;
  surfaceOp?: unknown;
  sourceEventSeqs?: number[];
}

export async function append(sessionId: string, ...events: NewEvent[]): Promise<number[]> {
  const { appendEvents } = await api<{ appendEvents: { events: { seq: number }[] } }>(
    `mutation ($input: AppendEventsInput!) {
      appendEvents(input: $input) { events { seq } }
    }`,
    { input: { sessionId, events } },
  );
  return appendEvents.events.map(({ seq }) => seq);
}

/** A message of a person, as recorders write it. */
export function message(text: string): NewEvent {
  return {
    type: "user/message",
    data: {
      id: crypto.randomUUID(),
      role: "user",
      source: { kind: "user" },
      content: [{ type: "text", text }],
    },
  };
}

/** What axe finds against WCAG 2.2 A and AA; must be empty. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source); // not a script element: the page's policy allows none
  const { violations: found } = await page.evaluate(() =>
    (window as unknown as { axe: typeof axe }).axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }),
  );
  return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`));
}
