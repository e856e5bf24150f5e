import { useEffect, useState } from "react";
import { type Client, type CombinedError, useClient } from "urql";
import { graphql } from "../gql";
import type { LineageQuery, LineageSessionFragment } from "../gql/graphql";
import { type Family, familyGraph } from "./graph";

export const LineageSession = graphql(`
  fragment LineageSession on SessionRecord {
    id
    title
    live
    persisted
    lastSeq
    header {
      createdAt
      origin
    }
  }
`);

export const Citations = graphql(`
  fragment Citations on SessionRecord {
    references(first: 50) {
      nodes {
        sessionId
        seq
        targetId
        label
        target {
          ...LineageSession
        }
      }
    }
    referencedBy(first: 50) {
      nodes {
        sessionId
        seq
        targetId
        label
      }
    }
  }
`);

const Lineage = graphql(`
  query Lineage($id: ID!, $after: Cursor) {
    session(id: $id) {
      ...LineageSession
      ...Citations
      lineage {
        __typename
        complete
        ... on PartialLineage {
          unresolvedParentId
        }
        ancestors {
          ...LineageSession
        }
        descendants(first: 2000, after: $after) {
          totalCount
          nodes {
            parentId
            depth
            session {
              ...LineageSession
            }
          }
          pageInfo {
            hasNextPage
            endCursor
          }
        }
      }
    }
  }
`);

/** A citation names the session that cites; its title is read here. */
const SessionsByIds = graphql(`
  query SessionsByIds($ids: [ID!]!) {
    observeSessions(ids: $ids) {
      __typename
      ...LineageSession
    }
  }
`);

export type Graph = ReturnType<typeof familyGraph>;

export interface FamilyState {
  graph: Graph | null;
  family: Family | null;
  /** Descendants that the corpus has; more than are drawn while pages are on their way. */
  total: number;
  error: CombinedError | null;
  missing: boolean;
}

const NOTHING: FamilyState = { graph: null, family: null, total: 0, error: null, missing: false };

/** The family of a session with places, page by page; each page is laid out as it arrives. */
export function useFamily(id: string): FamilyState {
  const client = useClient();
  const [state, setState] = useState(NOTHING);

  useEffect(() => {
    let over = false;
    const read = async (): Promise<void> => {
      const descendants: Family["descendants"][number][] = [];
      let after: string | null = null;
      do {
        const { data, error, citing } = await readPage(client, id, after);
        if (over) return;
        const lineage = data?.session?.lineage;
        if (!data?.session || !lineage) {
          const missing = data?.session === null && !error;
          setState({ ...NOTHING, error: error ?? null, missing });
          return;
        }
        descendants.push(...lineage.descendants.nodes);
        const family: Family = {
          target: data.session,
          ancestors: lineage.ancestors,
          descendants: [...descendants],
          unresolvedParentId:
            lineage.__typename === "PartialLineage" ? lineage.unresolvedParentId : null,
          citations: data.session,
          citing,
        };
        const { totalCount: total, pageInfo } = lineage.descendants;
        setState({ graph: familyGraph(family), family, total, error: null, missing: false });
        after = pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null;
      } while (after !== null);
    };
    void read();
    return () => {
      over = true;
    };
  }, [client, id]);

  return state;
}

interface PageRead {
  data: LineageQuery | undefined;
  error: CombinedError | undefined;
  citing: LineageSessionFragment[];
}

async function readPage(client: Client, id: string, after: string | null): Promise<PageRead> {
  // What an earlier visit cached may lack the newest descendants.
  const variables = { id, after };
  const { data, error } = await client.query(Lineage, variables, { requestPolicy: "network-only" });
  const ids = (data?.session?.referencedBy?.nodes ?? []).map(({ sessionId }) => sessionId);
  if (ids.length === 0) return { data, error, citing: [] };
  const found = await client.query(SessionsByIds, { ids });
  const sessions = found.data?.observeSessions ?? [];
  const citing = sessions.filter((session) => session.__typename === "SessionRecord");
  return { data, error, citing };
}
