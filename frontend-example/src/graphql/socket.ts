// One WebSocket for all subscriptions. It reconnects by itself for as long as somebody listens, and
// what was missed meanwhile is delivered after the reconnect: see `subscribeResuming`.
import { createClient } from "graphql-ws";
import { useSyncExternalStore } from "react";
import type { ExecutionResult, SubscriptionForwarder } from "urql";
import { resumption } from "./resumption";
import { credentials, wantToken } from "./token";

const LONGEST_WAIT_MS = 3_000;
const AGAIN_MS = 300;
const FORBIDDEN = 4403; // the token is missing, wrong, or was revoked

export type Connection = "idle" | "connected" | "lost";

let connection: Connection = "idle";
const watchers = new Set<() => void>();

function become(next: Connection): void {
  connection = next;
  for (const watcher of watchers) watcher();
}

/** Whether the live connection is there; a component that calls this renders again on changes. */
export function useConnection(): Connection {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => connection,
  );
}

const url = new URL("/graphql", location.href);
url.protocol = url.protocol === "https:" ? "wss:" : "ws:";

const socket = createClient({
  url: url.href,
  connectionParams: credentials,
  lazyCloseTimeout: 5_000, // survives the moment between two screens
  keepAlive: 10_000,
  retryAttempts: Infinity,
  shouldRetry: (event) => (event as Partial<CloseEvent>).code !== FORBIDDEN,
  retryWait: (retries) =>
    new Promise((resolve) => {
      const longest = Math.min(LONGEST_WAIT_MS, 100 * 2 ** retries);
      setTimeout(resolve, longest * (0.5 + Math.random() / 2));
    }),
  on: {
    connected: () => become("connected"),
    closed: (event) => {
      const { code } = event as CloseEvent;
      become(code === 1000 || code === FORBIDDEN ? "idle" : "lost");
      if (code === FORBIDDEN) wantToken();
    },
  },
});

export interface SubscribePayload {
  query: string;
  variables: Record<string, unknown>;
}

/** Where urql takes results from. */
export type ResultSink = Parameters<ReturnType<SubscriptionForwarder>["subscribe"]>[0];

/**
 * Subscribes; after an interruption the server continues exactly behind the last result.
 *
 * The library sends the same payload object again when it has reconnected. So it is enough to move
 * its variables forward with every result: no gap, no repeat, and no bookkeeping in components. A
 * server that is being stopped completes what it streams; nothing here ends by itself, so that is an
 * interruption too.
 */
export function subscribeResuming(payload: SubscribePayload, sink: ResultSink): () => void {
  const moving = { query: payload.query, variables: { ...payload.variables } };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wanted = true;

  const begin = (): (() => void) =>
    socket.subscribe(moving, {
      next(result) {
        if (result.data) Object.assign(moving.variables, resumption(result.data));
        sink.next(result as ExecutionResult);
      },
      error: (error) => sink.error(error),
      complete() {
        if (wanted) timer = setTimeout(() => (end = begin()), AGAIN_MS);
        else sink.complete();
      },
    });

  let end = begin();
  return () => {
    wanted = false;
    clearTimeout(timer);
    end();
  };
}
