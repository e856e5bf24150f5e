import { type Edge, MarkerType, type Node, Position } from "@xyflow/react";
import type { CitationsFragment, LineageSessionFragment } from "../gql/graphql";
import { NODE, type Place, placeBeside, placeTree, type Relative } from "./layout";

/** A session of the graph; null where the corpus has only its id. */
export type SessionNode = Node<
  { session: LineageSessionFragment | null; target: boolean },
  "session"
>;

export interface Family {
  target: LineageSessionFragment;
  /** Nearest first. */
  ancestors: readonly LineageSessionFragment[];
  descendants: readonly { session: LineageSessionFragment; parentId: string }[];
  /** The first parent that is not in the corpus; null when the lineage is complete. */
  unresolvedParentId: string | null;
  citations: CitationsFragment;
  /** The sessions that cite the target, where the corpus has them. */
  citing: readonly LineageSessionFragment[];
}

/** Everything that React Flow draws: sessions at their places, descent and citations as edges. */
export function familyGraph(family: Family): { nodes: SessionNode[]; edges: Edge[] } {
  const { target, ancestors, descendants, unresolvedParentId } = family;
  const sessions = new Map<string, LineageSessionFragment | null>();
  const relatives: Relative[] = [];
  const add = (
    id: string,
    session: LineageSessionFragment | null,
    parentId: string | null,
  ): void => {
    sessions.set(id, session);
    relatives.push({ id, parentId });
  };

  if (unresolvedParentId !== null) add(unresolvedParentId, null, null);
  const line = [target, ...ancestors];
  line.forEach((session, index) =>
    add(session.id, session, line[index + 1]?.id ?? unresolvedParentId),
  );
  for (const { session, parentId } of descendants) add(session.id, session, parentId);

  const descent = relatives.flatMap(({ id, parentId }) =>
    parentId === null ? [] : [descentEdge(parentId, id, sessions.get(parentId) === null)],
  );

  const tree = placeTree(relatives);
  const place = tree.find(({ id }) => id === target.id);
  if (!place) throw new Error("a lineage holds its target");
  const outside = (id: string, session: LineageSessionFragment | null): boolean => {
    if (sessions.has(id)) return false;
    sessions.set(id, session);
    return true;
  };
  const known = (id: string) => family.citing.find((session) => session.id === id) ?? null;
  const references = family.citations.references?.nodes ?? [];
  const referencedBy = family.citations.referencedBy?.nodes ?? [];
  const beside = placeBeside(
    place,
    references.filter((c) => outside(c.targetId, c.target)).map((c) => c.targetId),
    referencedBy.filter((c) => outside(c.sessionId, known(c.sessionId))).map((c) => c.sessionId),
  );
  const behind = new Set(beside.filter(({ y }) => y > place.y).map(({ id }) => id));
  const citations = [...references, ...referencedBy].map((citation) =>
    citationEdge(citation.sessionId, citation.targetId, behind.has(citation.targetId)),
  );
  return {
    nodes: [...tree, ...beside].map((at) => node(at, sessions.get(at.id) ?? null, target.id)),
    edges: [...descent, ...new Map(citations.map((edge) => [edge.id, edge])).values()],
  };
}

const at = (type: "source" | "target", position: Position, x: number, y: number, id?: string) => ({
  type,
  position,
  x: x * NODE.width,
  y: y * NODE.height,
  width: 1,
  height: 1,
  ...(id !== undefined && { id }),
});

/** Where edges begin and end; LineageScreen draws the same four. */
const HANDLES = [
  at("target", Position.Left, 0, 0.5),
  at("source", Position.Right, 1, 0.5),
  at("source", Position.Bottom, 0.5, 1, "below"),
  at("target", Position.Right, 1, 0.5, "after"),
];

function node(place: Place, session: LineageSessionFragment | null, target: string): SessionNode {
  return {
    id: place.id,
    type: "session",
    position: { x: place.x, y: place.y },
    // With known sizes and handles React Flow need not render thousands of nodes once, only to find
    // out which of them are visible and where their edges begin.
    width: NODE.width,
    height: NODE.height,
    handles: HANDLES,
    data: { session, target: place.id === target },
    ariaLabel: session?.title ?? place.id,
  };
}

function descentEdge(parent: string, child: string, unresolved: boolean): Edge {
  return {
    id: `descent ${parent} ${child}`,
    source: parent,
    target: child,
    type: "smoothstep",
    className: unresolved ? "edge-unresolved" : "edge-descent",
    focusable: false,
  };
}

/** `behind`: the cited session stands left of the citing one, against the direction of descent. */
function citationEdge(citing: string, cited: string, behind: boolean): Edge {
  return {
    id: `citation ${citing} ${cited}`,
    source: citing,
    target: cited,
    sourceHandle: behind ? "below" : null,
    targetHandle: behind ? "after" : null,
    label: "cites",
    className: "edge-citation",
    markerEnd: { type: MarkerType.ArrowClosed },
    focusable: false,
  };
}
