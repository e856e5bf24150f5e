import { useCallback, useEffect, useMemo, useState } from "react";
import { useClient, useQuery } from "urql";
import { graphql } from "../gql";
import type { SessionFilter } from "../gql/graphql";
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

  useEffect(() => {
    const waiting = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;

    const ask = async (): Promise<void> => {
      timer = undefined;
      const ids = [...waiting].slice(0, MOST_IDS);
      const variables = { filters: [...filters, { id: ids }], first: MOST_IDS };
      const { data } = await client.query(SessionsNow, variables, {
        requestPolicy: "network-only",
      });
      if (over) return;
      const matching = data?.now;
      if (matching) {
        for (const id of ids) waiting.delete(id);
        setChanges(
          (before) =>
            new Map([
              ...before,
              ...ids.map((id) => [id, null] as const),
              ...matching.nodes.map((session) => [session.id, session] as const),
            ]),
        );
      }
      if (waiting.size > 0) timer ??= setTimeout(() => void ask(), matching ? 0 : 1_000);
    };

    const subscription = client.subscription(CorpusChanges, {}).subscribe(({ data, error }) => {
      if (data) {
        waiting.add(data.corpus.sessionId);
        timer ??= setTimeout(() => void ask(), GATHER_MS);
      } else if (error) {
        // The server has forgotten the place where we were (it was restarted): begin anew.
        setChanges(new Map());
        setRun(run + 1);
        restart();
      }
    });
    return () => {
      over = true;
      clearTimeout(timer);
      subscription.unsubscribe();
    };
  }, [client, filters, restart, run]);

  return changes;
}
