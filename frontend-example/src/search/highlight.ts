/** A part of a text: [start, end) in Unicode code points. */
export interface Span {
  start: number;
  end: number;
}

export interface Piece {
  text: string;
  hit: boolean;
}

/**
 * Cuts a snippet into pieces inside and outside of its highlights.
 *
 * The API counts Unicode code points, JavaScript counts UTF-16 units: after an emoji the two differ.
 */
export function pieces(snippet: string, highlights: readonly Span[]): Piece[] {
  const points = Array.from(snippet);
  const found: Piece[] = [];
  let at = 0;
  for (const { start, end } of highlights) {
    if (start > at) found.push({ text: points.slice(at, start).join(""), hit: false });
    found.push({ text: points.slice(Math.max(at, start), end).join(""), hit: true });
    at = end;
  }
  if (at < points.length) found.push({ text: points.slice(at).join(""), hit: false });
  return found;
}
