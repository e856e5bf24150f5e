// The token of this browser tab: typed once, kept until the tab is closed, sent in a header and in the
// first message of the WebSocket. It never becomes a part of an address, where histories keep it.
// GraphiQL knows it by the same name, so it need not be typed again there.
import { useSyncExternalStore } from "react";

const KEY = "sessiongraph:token";

let wanted = false;
const watchers = new Set<() => void>();

/** What goes with every request; nothing when there is no token (a server may need none). */
export function credentials(): Record<string, string> {
  const token = sessionStorage.getItem(KEY);
  return token ? { authorization: `Bearer ${token}` } : {};
}

/** Says that the server wants a token, or another one than it was given. */
export function wantToken(): void {
  wanted = true;
  for (const watcher of watchers) watcher();
}

export function useTokenWanted(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => wanted,
  );
}

/** Whether the server was given a token that it does not take. */
export function wasRefused(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

/** Begins anew with a token. */
export function keepToken(typed: string): void {
  sessionStorage.setItem(KEY, bareToken(typed));
  location.reload();
}

/** The token in what a person pasted: itself, or all of the header that `token show` prints. */
export function bareToken(typed: string): string {
  return typed.trim().replace(/^(authorization:\s*)?(bearer\s+)?/i, "");
}
