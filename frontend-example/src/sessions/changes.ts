// A list that was read some time ago, brought up to date by what changed since.
import type { SessionRowFragment } from "../gql/graphql";

/** Sessions that changed since the list was read: as they match it now, or null where they do not. */
export type Changes = ReadonlyMap<string, SessionRowFragment | null>;

/**
 * The list as the server would answer it now: newest first, ties by id.
 *
 * A session that came in below the end of an unfinished list is left to the page it belongs to.
 */
export function withChanges(
  listed: readonly SessionRowFragment[],
  changes: Changes,
  hasMore: boolean,
): SessionRowFragment[] {
  const last = listed.at(-1);
  const kept = listed.filter((session) => !changes.has(session.id));
  const now = [...changes.values()].filter((session) => session !== null);
  const within = now.filter(
    (session) => !hasMore || last === undefined || inListOrder(session, last) <= 0,
  );
  return [...kept, ...within].sort(inListOrder);
}

function inListOrder(one: SessionRowFragment, other: SessionRowFragment): number {
  const byTime = other.header.createdAt - one.header.createdAt;
  if (byTime !== 0) return byTime;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}
