import { expect, test } from "vitest";
import { resumption } from "./resumption";

test("an interrupted log is followed on behind its last event", () => {
  expect(resumption({ sessionEvents: { seq: 41 } })).toEqual({ afterSeq: 41 });
});

test("an interrupted session list is followed on behind its last change", () => {
  expect(resumption({ corpus: { cursor: "c-7" } })).toEqual({ after: "c-7" });
});

test("projections begin with a snapshot again and resume by themselves", () => {
  expect(resumption({ projections: { views: [] } })).toEqual({});
});
