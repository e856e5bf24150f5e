import { useEffect, useState } from "react";
import { type Client, type CombinedError, type OperationResult, useClient } from "urql";
import { graphql } from "../gql";
import type { LineageQuery } from "../gql/graphql";
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
        const { data, error } = await readPage(client, id, after);
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

function readPage(
  client: Client,
  id: string,
  after: string | null,
): Promise<OperationResult<LineageQuery>> {
  // What an earlier visit cached may lack the newest descendants.
  return client.query(Lineage, { id, after }, { requestPolicy: "network-only" }).toPromise();
}
