import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { type CombinedError, useClient } from "urql";
import { graphql } from "../gql";
import type { TranscriptEventFragment as Event } from "../gql/graphql";
import { advance, type Transcript, type TranscriptMode } from "./transcript";

export const TranscriptEvent = graphql(`
  fragment TranscriptEvent on SessionEvent {
    __typename
    id
    seq
    type
    time
    surface
    replacedBy
    surfaceOp {
      op
      start
      end
    }
    ... on UserMessageEvent {
      text
      sourceKind
    }
    ... on AssistantMessageEvent {
      model
      interrupted
      content {
        type
        text
        data
      }
    }
    ... on ToolCallEvent {
      name
      arguments
    }
    ... on ToolResultEvent {
      text
      isError
    }
    ... on TodoWriteEvent {
      todos {
        content
        status
      }
    }
    ... on TitleEvent {
      title
    }
    ... on TurnEndEvent {
      turn
      reason
      error
    }
    ... on GenericEvent {
      data
    }
  }
`);

const SurfacePage = graphql(`
  query SurfacePage($id: ID!, $last: Int!, $before: Cursor) {
    session(id: $id) {
      id
      surface {
        capturedThroughSeq
        events(last: $last, before: $before) {
          nodes {
            ...TranscriptEvent
          }
          pageInfo {
            hasPreviousPage
            startCursor
          }
        }
      }
    }
  }
`);

const LogPage = graphql(`
  query LogPage($id: ID!, $range: SeqRange!, $first: Int, $last: Int) {
    session(id: $id) {
      id
      lastSeq
      events(filters: [{ seq: $range }], first: $first, last: $last) {
        nodes {
          ...TranscriptEvent
        }
      }
    }
  }
`);

const LogWindow = graphql(`
  query LogWindow($id: ID!, $seq: Int!) {
    session(id: $id) {
      id
      lastSeq
      event(seq: $seq, before: 30, after: 30) {
        startSeq
        endSeq
        events {
          ...TranscriptEvent
        }
      }
    }
  }
`);

const Removed = graphql(`
  query Removed($id: ID!, $seq: Int!) {
    session(id: $id) {
      id
      trace(seq: $seq) {
        replacedEventSeqs
      }
    }
  }
`);

const LiveTail = graphql(`
  subscription LiveTail($id: ID!, $afterSeq: Int!) {
    sessionEvents(sessionId: $id, afterSeq: $afterSeq) {
      ...TranscriptEvent
    }
  }
`);

const PAGE = 80;
// A transcript is a document of a moment that grows; what an earlier visit cached is not its start.
const fresh = { requestPolicy: "network-only" } as const;

/**
 * One session's transcript: opened at its end (or around `at`, in LOG), paged towards its beginning,
 * and followed live once its end is loaded.
 */
export function useTranscript(id: string, mode: TranscriptMode, at: number | null) {
  const client = useClient();
  const [transcript, dispatch] = useReducer(advance, null);
  const [error, setError] = useState<CombinedError | null>(null);
  const [missing, setMissing] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const reopen = useCallback(() => setAttempt((before) => before + 1), []);
  const paging = useRef(false);
  const latest = useRef<Transcript | null>(null);

  useEffect(() => {
    latest.current = transcript;
  }, [transcript]);

  const logPage = useCallback(
    (range: { from?: number; to?: number }, size: { first: number } | { last: number }) =>
      client.query(LogPage, { id, range, ...size }, fresh),
    [client, id],
  );

  useEffect(() => {
    let over = false;
    const open = async (): Promise<void> => {
      const opened = await openTranscript(client, id, mode, at);
      if (over) return;
      setError(opened.error ?? null);
      setMissing(opened.missing ?? false);
      if (opened.transcript) dispatch({ type: "opened", transcript: opened.transcript });
    };
    void open();
    return () => {
      over = true;
    };
  }, [client, id, mode, at, attempt]);

  const loadOlder = useCallback(async () => {
    const older = transcript?.older ?? null;
    if (older === null || paging.current) return;
    paging.current = true;
    if (typeof older === "number") {
      const { data } = await logPage({ to: older }, { last: PAGE });
      const events = data?.session?.events?.nodes;
      if (events) dispatch({ type: "older", events, older: before(events) });
    } else {
      const { data } = await client.query(SurfacePage, { id, last: PAGE, before: older }, fresh);
      const page = data?.session?.surface?.events;
      if (page) {
        const { hasPreviousPage, startCursor } = page.pageInfo;
        const next = hasPreviousPage ? (startCursor ?? null) : null;
        dispatch({ type: "older", events: page.nodes, older: next });
      }
    }
    paging.current = false;
  }, [client, id, logPage, transcript?.older]);

  const throughSeq = transcript?.throughSeq;
  const loadNewer = useCallback(async () => {
    if (throughSeq === undefined || paging.current) return;
    paging.current = true;
    const { data } = await logPage({ from: throughSeq + 1 }, { first: PAGE });
    const events = data?.session?.events?.nodes;
    if (events) {
      const hasNewer = (events.at(-1)?.seq ?? throughSeq) < (data.session?.lastSeq ?? -1);
      dispatch({ type: "newer", events, hasNewer });
    }
    paging.current = false;
  }, [logPage, throughSeq]);

  // Follows the log from what is loaded. Events are taken in once a frame: a subscriber who has
  // fallen behind gets thousands at once, and a render for each would never catch up.
  const follow = transcript !== null && !transcript.hasNewer && transcript.mode === mode;
  useEffect(() => {
    if (!follow) return;
    const waiting: Event[] = [];
    let frame: number | null = null;
    let over = false;

    const take = async (): Promise<void> => {
      const events = waiting.splice(0);
      const replacing = events.filter((event) => event.surfaceOp?.op === "REPLACE");
      const replaced = await Promise.all(
        replacing.map(async ({ seq }) => {
          const { data } = await client.query(Removed, { id, seq }, fresh);
          return [seq, data?.session?.trace?.replacedEventSeqs ?? []] as const;
        }),
      );
      if (over) return;
      dispatch({ type: "live", events, replaced: new Map(replaced) });
      frame = waiting.length > 0 ? requestAnimationFrame(() => void take()) : null;
    };

    const variables = { id, afterSeq: latest.current?.throughSeq ?? -1 };
    const subscription = client.subscription(LiveTail, variables).subscribe((result) => {
      if (result.error) {
        reopen(); // the log was replaced: what is on screen belongs to the old one
      } else if (result.data) {
        waiting.push(result.data.sessionEvents);
        frame ??= requestAnimationFrame(() => void take());
      }
    });
    return () => {
      over = true;
      if (frame !== null) cancelAnimationFrame(frame);
      subscription.unsubscribe();
    };
  }, [client, id, follow, attempt, reopen]);

  return { transcript, error, missing, reopen, loadOlder, loadNewer };
}

interface Opened {
  transcript?: Transcript;
  error?: CombinedError;
  missing?: boolean;
}

async function openTranscript(
  client: ReturnType<typeof useClient>,
  id: string,
  mode: TranscriptMode,
  at: number | null,
): Promise<Opened> {
  if (mode === "MODEL") {
    const { data, error } = await client.query(SurfacePage, { id, last: PAGE }, fresh);
    if (data?.session === null && !error) return { missing: true };
    const surface = data?.session?.surface;
    if (!surface?.events) return error ? { error } : {};
    const { hasPreviousPage, startCursor } = surface.events.pageInfo;
    const older = hasPreviousPage ? (startCursor ?? null) : null;
    const events = surface.events.nodes;
    // Followed from the newest message on, not from the end of the log: the pieces of an answer that
    // is being written come after it, and the draft needs all of them.
    const throughSeq =
      events.length > 0
        ? Math.max(...events.map((event) => event.seq))
        : (surface.capturedThroughSeq ?? -1);
    return { transcript: { mode, events, draft: "", older, hasNewer: false, throughSeq } };
  }
  if (at !== null) {
    const { data } = await client.query(LogWindow, { id, seq: at }, fresh);
    const found = data?.session?.event;
    if (found) {
      const hasNewer = found.endSeq < (data.session?.lastSeq ?? -1);
      return {
        transcript: {
          mode,
          events: found.events,
          draft: "",
          older: before(found.events),
          hasNewer,
          throughSeq: found.endSeq,
        },
      };
    } // the log has no such event: show its end
  }
  const variables = { id, range: { from: 0 }, last: PAGE };
  const { data, error } = await client.query(LogPage, variables, fresh);
  if (data?.session === null && !error) return { missing: true };
  const events = data?.session?.events?.nodes;
  if (!events) return error ? { error } : {};
  const throughSeq = data.session?.lastSeq ?? -1;
  return {
    transcript: { mode, events, draft: "", older: before(events), hasNewer: false, throughSeq },
  };
}

/** The seq at which the next older page ends; seqs of a log have no gaps and begin at 0. */
function before(events: readonly Event[]): number | null {
  const first = events[0];
  return first && first.seq > 0 ? first.seq - 1 : null;
}
