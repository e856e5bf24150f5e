import { expect, test } from "vitest";
import type { TranscriptEventFragment as Event } from "../gql/graphql";
import { advance, runs, type Transcript, type TranscriptMode } from "./transcript";

const event = (seq: number, part: Partial<Event> = {}): Event =>
  ({
    __typename: "UserMessageEvent",
    id: `s#${seq}`,
    seq,
    type: "user/message",
    time: seq,
    surface: "CURRENT",
    replacedBy: null,
    surfaceOp: { op: "APPEND", start: null, end: null },
    text: String(seq),
    sourceKind: "user",
    ...part,
  }) as Event;
const replacing = (seq: number, start: number, end: number): Event =>
  event(seq, { surfaceOp: { op: "REPLACE", start, end } });
const chunk = (seq: number, text: string): Event =>
  event(seq, {
    __typename: "GenericEvent",
    type: "assistant/chunk",
    surface: "LOG_ONLY",
    surfaceOp: null,
    data: { chunk: { type: "text-delta", text } },
  });

const transcript = (mode: TranscriptMode, seqs: number[], part: Partial<Transcript> = {}) => ({
  mode,
  events: seqs.map((seq) => event(seq)),
  draft: "",
  older: null,
  hasNewer: false,
  throughSeq: seqs.at(-1) ?? -1,
  ...part,
});
const live = (
  before: Transcript,
  events: Event[],
  replaced: [number, number[]][] = [],
): Transcript => {
  const after = advance(before, { type: "live", events, replaced: new Map(replaced) });
  if (!after) throw new Error("a transcript stays a transcript");
  return after;
};
const seqs = ({ events }: Transcript): number[] => events.map(({ seq }) => seq);

test("live events are appended, and one that is known already changes nothing", () => {
  const after = live(transcript("MODEL", [1, 2]), [event(2), event(3)]);
  expect(seqs(after)).toEqual([1, 2, 3]);
  expect(after.throughSeq).toBe(3);
});

test("the model sees a replacement in the place of what it replaced", () => {
  const after = live(transcript("MODEL", [1, 2, 3, 4]), [replacing(5, 2, 3)], [[5, [2, 3]]]);
  expect(seqs(after)).toEqual([1, 5, 4]);
});

test("a replacement can be replaced in turn, within one batch", () => {
  const after = live(
    transcript("MODEL", [1, 2, 3]),
    [replacing(4, 1, 2), event(5), replacing(6, 4, 3)],
    [
      [4, [1, 2]],
      [6, [4, 3]],
    ],
  );
  expect(seqs(after)).toEqual([6, 5]);
});

test("a replacement that begins on an older page is left to that page", () => {
  const before = transcript("MODEL", [8, 9], { older: "cursor" });
  expect(seqs(live(before, [replacing(10, 2, 8)], [[10, [2, 5, 8]]]))).toEqual([9]);
});

test("in the log everything stays, and what was replaced is marked", () => {
  const after = live(transcript("LOG", [1, 2, 3]), [replacing(4, 1, 2)], [[4, [1, 2]]]);
  expect(seqs(after)).toEqual([1, 2, 3, 4]);
  expect(after.events.map(({ surface }) => surface)).toEqual([
    "SHADOWED",
    "SHADOWED",
    "CURRENT",
    "CURRENT",
  ]);
  expect(after.events[0]?.replacedBy).toBe(4);
});

test("pieces of an answer make a draft until the answer is there", () => {
  const writing = live(transcript("MODEL", [1]), [chunk(2, "Hel"), chunk(3, "lo")]);
  expect([seqs(writing), writing.draft]).toEqual([[1], "Hello"]);
  const answer = event(4, { __typename: "AssistantMessageEvent" });
  expect(live(writing, [answer]).draft).toBe("");
});

test("older and newer pages join at their ends", () => {
  const before = transcript("LOG", [5, 6], { older: 4, hasNewer: true });
  const older = advance(before, { type: "older", events: [event(3), event(4)], older: 2 });
  const both = older && advance(older, { type: "newer", events: [event(7)], hasNewer: false });
  expect(both && seqs(both)).toEqual([3, 4, 5, 6, 7]);
  expect(both).toMatchObject({ older: 2, hasNewer: false, throughSeq: 7 });
});

test("pieces that follow each other are one line", () => {
  const events = [event(1), chunk(2, "a"), chunk(3, "b"), event(4), chunk(5, "c")];
  expect(runs(events).map((run) => run.events.length)).toEqual([1, 2, 1, 1]);
});
