import { expect, test } from "vitest";
import type { LineageSessionFragment } from "../gql/graphql";
import { type Family, familyGraph } from "./graph";
import { NODE } from "./layout";

const session = (id: string): LineageSessionFragment => ({
  id,
  title: null,
  live: false,
  persisted: true,
  lastSeq: 0,
  header: { createdAt: 0, origin: null },
});
const child = (id: string, parentId: string) => ({ session: session(id), parentId });
const family = (part: Partial<Family> = {}): Family => ({
  target: session("me"),
  ancestors: [],
  descendants: [],
  unresolvedParentId: null,
  citations: { references: null, referencedBy: null },
  citing: [],
  ...part,
});
const citation = (sessionId: string, targetId: string, target = session(targetId)) => ({
  sessionId,
  targetId,
  target,
  seq: 1,
  label: targetId,
});

test("ancestors stand before their children, and no two sessions overlap", () => {
  const { nodes } = familyGraph(
    family({
      ancestors: [session("parent"), session("root")],
      descendants: [child("a", "me"), child("a1", "a"), child("a2", "a"), child("b", "me")],
    }),
  );
  const at = new Map(nodes.map((node) => [node.id, node.position.x]));
  const columns = ["root", "parent", "me", "a", "a1"].map((id) => at.get(id) ?? NaN);
  expect(columns).toEqual(columns.toSorted((one, other) => one - other));
  expect(new Set(columns).size).toBe(5);
  for (const one of nodes)
    for (const other of nodes)
      if (one !== other)
        expect(
          Math.abs(one.position.x - other.position.x) >= NODE.width ||
            Math.abs(one.position.y - other.position.y) >= NODE.height,
        ).toBe(true);
});

test("a partial lineage begins with the parent that is not there", () => {
  const { nodes, edges } = familyGraph(family({ unresolvedParentId: "gone" }));
  expect(nodes.find(({ id }) => id === "gone")?.data.session).toBeNull();
  expect(edges.map(({ source, target, className }) => [source, target, className])).toEqual([
    ["gone", "me", "edge-unresolved"],
  ]);
});

test("citations join sessions of the family and bring those that stand outside", () => {
  const { nodes, edges } = familyGraph(
    family({
      descendants: [child("a", "me")],
      citations: {
        references: { nodes: [citation("me", "elsewhere")] },
        referencedBy: { nodes: [citation("a", "me"), citation("reader", "me")] },
      },
      citing: [session("reader")],
    }),
  );
  expect(nodes.map(({ id }) => id).sort()).toEqual(["a", "elsewhere", "me", "reader"]);
  const cites = edges.filter(({ className }) => className === "edge-citation");
  expect(cites.map(({ source, target }) => `${source} ${target}`).sort()).toEqual([
    "a me",
    "me elsewhere",
    "reader me",
  ]);
});

test("2,000 sessions are placed in a fraction of what a person notices", () => {
  const descendants = Array.from({ length: 2000 }, (_, n) =>
    child(`s${n}`, n === 0 ? "me" : `s${Math.floor((n - 1) / 3)}`),
  );
  expect(familyGraph(family({ descendants })).nodes).toHaveLength(2001);
});
