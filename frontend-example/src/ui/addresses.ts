// Addresses inside the app. Ids of sessions may hold any character.
import { useSearch } from "wouter";

export const sessionAddress = (id: string): string => `/sessions/${encodeURIComponent(id)}`;
export const eventAddress = (id: string, seq: number): string => `${sessionAddress(id)}?seq=${seq}`;
export const lineageAddress = (id: string): string => `${sessionAddress(id)}/lineage`;

/**
 * The id in the address. Read from the browser's own address and decoded once: what the router hands
 * out is decoded in part already, so that an id with a `%` would come out as another one.
 */
export function addressedSession(): string {
  const { pathname } = location;
  const part = pathname.slice(pathname.indexOf("/sessions/")).split("/")[2] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand, with a `%` of its own
  }
}

/** What follows the `?`, for the same reason as it is in the browser's own address. */
export function useQueryParameters(): URLSearchParams {
  useSearch();
  return new URLSearchParams(location.search);
}
