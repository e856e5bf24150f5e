// From a lineage to nodes with places. Pure and quick (2,000 sessions take some milliseconds), and
// called where the data arrives, never while React renders.
import { stratify, tree } from "d3-hierarchy";

export interface Relative {
  id: string;
  parentId: string | null;
}

export interface Place {
  id: string;
  x: number;
  y: number;
}

export const NODE = { width: 240, height: 58 };
const COLUMN = NODE.width + 70;
const ROW = NODE.height + 16;

/**
 * A tidy tree that grows to the right: children in the order in which they come, parents centred.
 * Exactly one relative has no parent.
 */
export function placeTree(relatives: readonly Relative[]): Place[] {
  const root = stratify<Relative>()
    .id((relative) => relative.id)
    .parentId((relative) => relative.parentId)([...relatives]);
  const placed = tree<Relative>()
    .nodeSize([ROW, COLUMN])
    .separation(() => 1)(root);
  return placed.descendants().map(({ data, x, y }) => ({ id: data.id, x: y, y: x }));
}

/**
 * Sessions outside of the tree, which the target cites (below) or which cite it (above): in the column
 * before the target, where the tree has at most one parent.
 */
export function placeBeside(
  target: Place,
  below: readonly string[],
  above: readonly string[],
): Place[] {
  const x = target.x - COLUMN;
  return [
    ...below.map((id, index) => ({ id, x, y: target.y + (index + 1.5) * ROW })),
    ...above.map((id, index) => ({ id, x, y: target.y - (index + 1.5) * ROW })),
  ];
}
