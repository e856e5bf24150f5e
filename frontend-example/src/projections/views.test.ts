import { expect, test } from "vitest";
import type { ViewFragment } from "../gql/graphql";
import { type Views, viewOf, withFrame } from "./views";

const todos = (seq: number, ...contents: string[]): ViewFragment => ({
  __typename: "TodosView",
  key: "todos",
  seq,
  todos: contents.map((content) => ({ content, status: "pending" })),
});
const plan = (seq: number, active: boolean): ViewFragment => ({
  __typename: "PlanView",
  key: "plan",
  seq,
  active,
  pending: false,
});
const change = (view: ViewFragment) => ({ __typename: "ProjectionChange" as const, view });
const snapshot = (...views: ViewFragment[]) => ({
  __typename: "ProjectionSnapshot" as const,
  views,
});
const none: Views = new Map();

test("a snapshot replaces everything that was known", () => {
  const before = withFrame(none, snapshot(todos(5, "old"), plan(1, true)));
  const after = withFrame(before, snapshot(plan(9, false)));
  expect([...after.keys()]).toEqual(["plan"]);
});

test("of two values of one key the one with the higher seq wins, whichever comes first", () => {
  const before = withFrame(none, change(todos(7, "new")));
  expect(viewOf(withFrame(before, change(todos(3, "old"))), "TodosView")?.seq).toBe(7);
  expect(viewOf(withFrame(before, change(todos(8, "newer"))), "TodosView")?.seq).toBe(8);
});

test("a change leaves the other views as they are", () => {
  const before = withFrame(none, snapshot(todos(1, "a"), plan(1, true)));
  const after = withFrame(before, change(todos(2, "a", "b")));
  expect(viewOf(after, "TodosView")?.todos).toHaveLength(2);
  expect(viewOf(after, "PlanView")?.active).toBe(true);
});
