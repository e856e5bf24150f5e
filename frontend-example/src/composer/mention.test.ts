import { expect, test } from "vitest";
import { mentionAt, withMention } from "./mention";

/** `|` marks the caret. */
const at = (marked: string) => mentionAt(marked.replace("|", ""), marked.indexOf("|"));

test.each([
  ["@|", { start: 0, query: "" }],
  ["see @ret|ry", { start: 4, query: "ret" }],
  ["(@the retry|", { start: 1, query: "the retry" }],
  ["one\n@two|", { start: 4, query: "two" }],
  ["看 @审查|", { start: 2, query: "审查" }],
])("%s is a mention", (marked, expected) => {
  expect(at(marked)).toEqual(expected);
});

test.each([
  "no mention|",
  "mail@host|",
  "@[done](dsh-session:x) and|",
  "@one\ntwo|",
  "@two  blanks|",
])("%s is none", (marked) => {
  expect(at(marked)).toBeNull();
});

test("a candidate takes the place of what was typed, and the caret stands behind it", () => {
  const text = "see @ret please";
  const mention = { start: 4, query: "ret" };
  const next = withMention(text, mention, "@[A](dsh-session:x)");
  expect(next.text).toBe("see @[A](dsh-session:x) please");
  expect(next.text.slice(next.caret)).toBe("please");
});
