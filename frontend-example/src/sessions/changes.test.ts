import { expect, test } from "vitest";
import type { SessionRowFragment } from "../gql/graphql";
import { withChanges } from "./changes";

const session = (id: string, createdAt: number, title = id): SessionRowFragment => ({
  id,
  title,
  live: true,
  persisted: true,
  lastSeq: 0,
  header: { cwd: null, createdAt, origin: null, parentSession: null, source: { kind: "API" } },
});
const ids = (sessions: SessionRowFragment[]) => sessions.map(({ id }) => id);
const listed = [session("c", 30), session("b", 20), session("a", 10)];

test("a new session comes in where it belongs, newest first and ties by id", () => {
  const changes = new Map([
    ["d", session("d", 40)],
    ["b2", session("b2", 20)],
  ]);
  expect(ids(withChanges(listed, changes, false))).toEqual(["d", "c", "b", "b2", "a"]);
});

test("a session that no longer matches goes, and one that still does is shown as it is now", () => {
  const changes = new Map([
    ["c", null],
    ["a", session("a", 10, "renamed")],
  ]);
  const now = withChanges(listed, changes, false);
  expect(ids(now)).toEqual(["b", "a"]);
  expect(now.at(-1)?.title).toBe("renamed");
});

test("below the end of an unfinished list nothing comes in: it belongs to a later page", () => {
  const changes = new Map([["old", session("old", 5)]]);
  expect(ids(withChanges(listed, changes, true))).toEqual(["c", "b", "a"]);
  expect(ids(withChanges(listed, changes, false))).toEqual(["c", "b", "a", "old"]);
});
