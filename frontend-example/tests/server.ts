// Starts what all browser tests share: one server over the sample sessions, and one Chromium that can
// reach nothing else. Both are real; the tests get their addresses.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

const ROOT = resolve(import.meta.dirname, "../..");
const PYTHON = process.env["PYTHON"] ?? "python3";
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

declare module "vitest" {
  interface ProvidedContext {
    server: Server;
    chromium: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`There is no ${CHROMIUM}: install Chromium, or name it in CHROMIUM.`);
  }
  const data = makeDataDirectory();
  const samples = join(ROOT, "server/samples/sessions");
  runCommand("import", samples, "--data-dir", data);
  const server = await startServer(data);
  const browser = await chromium.launchServer({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Belt and braces: even a request that no test notices finds no host.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ],
  });
  project.provide("server", { url: server.url, token: server.token, data });
  project.provide("chromium", browser.wsEndpoint());
  return async () => {
    await browser.close();
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  };
}

export function makeDataDirectory(): string {
  return mkdtempSync(join(tmpdir(), "sessiongraph-browser-"));
}

export function runCommand(...command: string[]): string {
  return execFileSync(PYTHON, ["-m", "server.cli", ...command], {
    cwd: ROOT,
    stdio: "pipe",
    encoding: "utf8",
  });
}

/** Where a server answers, its owner's token, and its data directory. */
export interface Server {
  url: string;
  token: string;
  data: string;
}

export interface RunningServer extends Server {
  stop: () => Promise<void>;
}

/** A server on a directory; `port` 0 takes a free one, `settings` are added to its environment. */
export async function startServer(
  data: string,
  port = 0,
  settings: Record<string, string> = {},
): Promise<RunningServer> {
  const command = ["-m", "server.cli", "serve", "--data-dir", data, "--port", String(port)];
  const server = spawn(PYTHON, [...command, "--log-level", "error"], {
    cwd: ROOT,
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await readUrl(server);
  const shown = runCommand("token", "show", "--json", "--data-dir", data);
  const { token } = JSON.parse(shown) as { token: string };
  return { url, token, data, stop: () => stop(server) };
}

function readUrl(server: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    server.once("exit", (code) => failed(new Error(`the server ended with ${code ?? "a signal"}`)));
    if (!server.stdout) throw new Error("stdout is a pipe");
    createInterface(server.stdout).on("line", (line) => {
      const url = /^listening on (http:\S+)/.exec(line)?.[1];
      if (url) found(url);
    });
  });
}

async function stop(server: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
}
