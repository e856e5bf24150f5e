// Finding the @-mention that is being typed, and putting a candidate in its place.

export interface Mention {
  /** Where the `@` stands. */
  start: number;
  /** What was typed after it. */
  query: string;
}

const LONGEST_QUERY = 60;

/** The mention that the caret stands in; null when it stands in none. */
export function mentionAt(text: string, caret: number): Mention | null {
  const line = text.slice(text.lastIndexOf("\n", caret - 1) + 1, caret);
  const at = line.lastIndexOf("@");
  if (at < 0) return null;
  const query = line.slice(at + 1);
  const startsWord = at === 0 || /\s|[([{"'“‘]/.test(line.charAt(at - 1));
  // `@[` begins a finished mention; two blanks or much text mean that it never was one.
  if (!startsWord || query.startsWith("[") || query.length > LONGEST_QUERY || /\s{2}/.test(query)) {
    return null;
  }
  return { start: caret - query.length - 1, query };
}

/** The text with `canonical` in place of the mention, and where the caret stands then. */
export function withMention(text: string, mention: Mention, canonical: string) {
  const end = mention.start + 1 + mention.query.length;
  const rest = text.slice(end);
  const inserted = /^\s/.test(rest) ? canonical : `${canonical} `;
  return {
    text: text.slice(0, mention.start) + inserted + rest,
    caret: mention.start + canonical.length + 1,
  };
}
