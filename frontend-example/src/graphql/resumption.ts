/**
 * Where a subscription goes on when it is interrupted after this result: the variables to change.
 * `sessionEvents` resumes after a seq and `corpus` after a cursor; `projections` begins with a
 * snapshot every time and needs nothing.
 */
export function resumption(data: Record<string, unknown>): Record<string, unknown> {
  const { sessionEvents, corpus } = data as {
    sessionEvents?: { seq: number };
    corpus?: { cursor: string };
  };
  if (sessionEvents) return { afterSeq: sessionEvents.seq };
  if (corpus) return { after: corpus.cursor };
  return {};
}
