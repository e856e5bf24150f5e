import { expect, test } from "vitest";
import { pieces } from "./highlight";

const hits = (snippet: string, ...spans: [number, number][]): string[] =>
  pieces(
    snippet,
    spans.map(([start, end]) => ({ start, end })),
  )
    .filter((piece) => piece.hit)
    .map((piece) => piece.text);

test("highlights are cut out in order and nothing is lost", () => {
  const found = pieces("the retry loop retries", [
    { start: 4, end: 9 },
    { start: 15, end: 22 },
  ]);
  expect(found.map((piece) => piece.text)).toEqual(["the ", "retry", " loop ", "retries"]);
  expect(found.map((piece) => piece.hit)).toEqual([false, true, false, true]);
});

test("offsets count code points, so characters outside of the first plane shift nothing", () => {
  expect(hits("🧪🧪 test 👩‍🔬", [3, 7])).toEqual(["test"]);
  expect(hits("等待连接池", [2, 5])).toEqual(["连接池"]);
});

test("spans that overlap show every character once", () => {
  expect(
    pieces("abcdef", [
      { start: 1, end: 4 },
      { start: 3, end: 5 },
    ])
      .map((piece) => piece.text)
      .join(""),
  ).toBe("abcdef");
});
