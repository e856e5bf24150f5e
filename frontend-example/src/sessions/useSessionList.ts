import { useCallback, useEffect, useEffectEvent, useMemo, useState } from "react";
import { useClient, useQuery } from "urql";
import { graphql } from "../gql";
import type { SessionFilter } from "../gql/graphql";
import { useConnection } from "../graphql/socket";
import { type Changes, withChanges } from "./changes";

export const SessionRow = graphql(`
  fragment SessionRow on SessionRecord {
    id
    title
    live
    persisted
    lastSeq
    header {
      cwd
      createdAt
      origin
      parentSession
      source {
        kind
      }
    }
  }
`);

const Sessions = graphql(`
  query Sessions($filters: [SessionFilter!], $first: Int!, $after: Cursor) {
    sessions(filters: $filters, first: $first, after: $after) {
      nodes {
        ...SessionRow
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

/** Beside the pages: which of some sessions match the filters, and how they look now. */
const SessionsNow = graphql(`
  query SessionsNow($filters: [SessionFilter!], $first: Int!) {
    now: sessions(filters: $filters, first: $first) {
      nodes {
        ...SessionRow
      }
    }
  }
`);

const CorpusChanges = graphql(`
  subscription CorpusChanges($after: Cursor) {
    corpus(after: $after) {
      cursor
      kind
      sessionId
    }
  }
`);

const PAGE = 50;
const MOST_IDS = 100;
const GATHER_MS = 200;
const SETTLE_MS = 500;
const AGAIN_MS = 500;

/** The sessions that pass the filters, page by page, kept true by `corpus`. */
export function useSessionList(filters: SessionFilter[]) {
  const [after, setAfter] = useState<string | null>(null);
  const [{ data, error, fetching }, read] = useQuery({
    query: Sessions,
    variables: { filters, first: PAGE, after },
    requestPolicy: "cache-and-network",
  });
  const restart = useCallback(() => {
    setAfter(null);
    read({ requestPolicy: "network-only" });
  }, [read]);
  const changes = useChanges(filters, restart);

  const page = data?.sessions;
  const hasMore = page?.pageInfo.hasNextPage ?? false;
  const sessions = useMemo(
    () => withChanges(page?.nodes ?? [], changes, hasMore),
    [page, changes, hasMore],
  );
  const more = useCallback(
    () => setAfter(page?.pageInfo.endCursor ?? null),
    [page?.pageInfo.endCursor],
  );
  return { sessions, error, fetching, loaded: page != null, hasMore, more, restart };
}

/**
 * What changed since the list was read.
 *
 * A change says only which session it concerns. Whether that session belongs on this list is for the
 * server to say: the same filters and the ids, asked once for all changes of a moment.
 */
function useChanges(filters: SessionFilter[], restart: () => void): Changes {
  const client = useClient();
  const [changes, setChanges] = useState<Changes>(new Map());
  const [run, setRun] = useState(0);

  // The server has forgotten the place where we were, because it was restarted.
  const beginAnew = useEffectEvent(() => {
    setChanges(new Map());
    setRun(run + 1);
    restart();
  });

  useEffect(() => {
    const waiting = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;

    const ask = async (): Promise<void> => {
      timer = undefined;
      // Taken off before asking: one that changes again meanwhile is asked for again.
      const ids = [...waiting].slice(0, MOST_IDS);
      for (const id of ids) waiting.delete(id);
      const variables = { filters: [...filters, { id: ids }], first: MOST_IDS };
      const { data } = await client.query(SessionsNow, variables, {
        requestPolicy: "network-only",
      });
      if (over) return;
      const matching = data?.now;
      if (matching) {
        setChanges(
          (before) =>
            new Map([
              ...before,
              ...ids.map((id) => [id, null] as const),
              ...matching.nodes.map((session) => [session.id, session] as const),
            ]),
        );
      } else {
        for (const id of ids) waiting.add(id);
      }
      if (waiting.size > 0) timer ??= setTimeout(() => void ask(), matching ? 0 : 1_000);
    };

    const subscription = client.subscription(CorpusChanges, {}).subscribe(({ data, error }) => {
      if (error) {
        clearTimeout(timer);
        timer = setTimeout(beginAnew, AGAIN_MS);
      } else if (data) {
        waiting.add(data.corpus.sessionId);
        timer ??= setTimeout(() => void ask(), GATHER_MS);
      }
    });
    return () => {
      over = true;
      clearTimeout(timer);
      subscription.unsubscribe();
    };
  }, [client, filters, run]);

  // `corpus` begins at the moment when the server has begun it, a little after the list was read.
  // What happened in between is found by looking at the head of the list once more.
  const connected = useConnection() === "connected";
  useEffect(() => {
    if (!connected) return;
    let over = false;
    const look = async (): Promise<void> => {
      const variables = { filters, first: PAGE };
      const { data } = await client.query(SessionsNow, variables, {
        requestPolicy: "network-only",
      });
      if (over || !data?.now) return;
      const head = data.now.nodes.map((session) => [session.id, session] as const);
      setChanges((before) => new Map([...before, ...head]));
    };
    const timer = setTimeout(() => void look(), SETTLE_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [client, filters, connected, run]);

  return changes;
}
