// The part of one log that is on screen, and how it grows: older pages at one end, live events at the
// other. Plain data and one pure function, so that every rule can be tested without a browser.
import type { TranscriptEventFragment as Event } from "../gql/graphql";

/** MODEL: what the model sees, in its order. LOG: every event, in the order of the log. */
export type TranscriptMode = "MODEL" | "LOG";

export interface Transcript {
  mode: TranscriptMode;
  events: readonly Event[];
  /** Text of an answer that is still being written, before it is a message. */
  draft: string;
  /** Where the next older page begins: a cursor (MODEL), `seq` (LOG); null at the beginning. */
  older: string | number | null;
  /** Whether later events of the log are not loaded: they are paged, not followed. */
  hasNewer: boolean;
  /** Everything up to this event is taken account of; what is followed begins after it. */
  throughSeq: number;
}

/** `replaced` tells for each replacing event which ones it removed from the surface. */
export type Step =
  | { type: "opened"; transcript: Transcript }
  | { type: "older"; events: readonly Event[]; older: Transcript["older"] }
  | { type: "newer"; events: readonly Event[]; hasNewer: boolean }
  | { type: "live"; events: readonly Event[]; replaced: ReadonlyMap<number, readonly number[]> };

export function advance(before: Transcript | null, step: Step): Transcript | null {
  if (step.type === "opened") return step.transcript;
  if (!before) return before;
  switch (step.type) {
    case "older":
      return { ...before, events: [...step.events, ...before.events], older: step.older };
    case "newer":
      return {
        ...before,
        events: [...before.events, ...step.events],
        hasNewer: step.hasNewer,
        throughSeq: step.events.at(-1)?.seq ?? before.throughSeq,
      };
    case "live": {
      const fresh = step.events.filter((event) => event.seq > before.throughSeq);
      return fresh.reduce(
        (transcript, event) => withLive(transcript, event, step.replaced.get(event.seq) ?? []),
        before,
      );
    }
  }
}

function withLive(before: Transcript, event: Event, replaced: readonly number[]): Transcript {
  const after = { ...before, throughSeq: event.seq, draft: draftAfter(before.draft, event) };
  const gone = new Set(replaced);
  if (before.mode === "LOG") {
    const marked = before.events.map((earlier) =>
      gone.has(earlier.seq)
        ? { ...earlier, surface: "SHADOWED" as const, replacedBy: event.seq }
        : earlier,
    );
    return { ...after, events: [...marked, event] };
  }
  if (event.surface === "LOG_ONLY") return after;
  if (event.surfaceOp?.op !== "REPLACE") return { ...after, events: [...before.events, event] };
  // A replacement inherits the place of the first event that it removes. When not all of those are
  // loaded, that place is on an older page, and the replacement comes with that page.
  const kept = before.events.filter((earlier) => !gone.has(earlier.seq));
  if (before.events.length - kept.length < gone.size) return { ...after, events: kept };
  const place = before.events.findIndex((earlier) => gone.has(earlier.seq));
  return { ...after, events: kept.toSpliced(place, 0, event) };
}

/** Recorders of the first generation log each piece of a streamed answer as an event of its own. */
function draftAfter(draft: string, event: Event): string {
  if (event.__typename === "GenericEvent" && event.type === "assistant/chunk") {
    const { chunk } = event.data as { chunk?: { type?: string; text?: string } };
    return chunk?.type === "text-delta" ? draft + (chunk.text ?? "") : draft;
  }
  const finished = event.__typename === "AssistantMessageEvent" || event.type === "turn/end";
  return finished ? "" : draft;
}

/** Neighbours of one type that nobody reads one by one are shown as one line. */
export interface Run {
  events: readonly [Event, ...Event[]];
}

export function runs(events: readonly Event[]): Run[] {
  const found: [Event, ...Event[]][] = [];
  for (const event of events) {
    const last = found.at(-1);
    if (last && event.type === "assistant/chunk" && last[0].type === event.type) last.push(event);
    else found.push([event]);
  }
  return found.map((run) => ({ events: run }));
}
