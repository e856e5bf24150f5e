import { useCallback, useEffect, useMemo, useRef } from "react";
import { Empty, Failed, Loading } from "../ui/states";
import { useReached } from "../ui/useReached";
import { EventItem } from "./EventItem";
import { runs, type TranscriptMode } from "./transcript";
import { useTranscript } from "./useTranscript";

interface Props {
  id: string;
  mode: TranscriptMode;
  /** The event that the address names. */
  at: number | null;
  /** Opens the log around an event that is not on screen. */
  open: (seq: number) => void;
}

/**
 * The events of a session.
 *
 * The scroll container is a reversed column (see app.css): its resting place is the end. New events
 * push the older ones up while one reads at the end, older pages never move what one is reading, and
 * no line of script is needed for either.
 */
export function TranscriptView({ id, mode, at, open }: Props) {
  const { transcript, error, missing, reopen, loadOlder, loadNewer } = useTranscript(id, mode, at);
  const older = transcript?.older != null;
  const newer = transcript?.hasNewer ?? false;
  const reachOlder = useCallback(() => void loadOlder(), [loadOlder]);
  const reachNewer = useCallback(() => void loadNewer(), [loadNewer]);
  const top = useReached<HTMLDivElement>(older ? reachOlder : null);
  const bottom = useReached<HTMLDivElement>(newer ? reachNewer : null);
  const list = useRef<HTMLOListElement>(null);
  const items = useMemo(() => runs(transcript?.events ?? []), [transcript?.events]);

  const opened = transcript !== null;
  useEffect(() => {
    if (opened && at !== null) show(at);
  }, [opened, at]);

  const goTo = useCallback(
    (seq: number) => {
      if (!show(seq)) open(seq);
    },
    [open],
  );

  if (error) return <Failed error={error} retry={reopen} />;
  if (missing) return <Empty title="This session is gone." />;
  if (!transcript) return <Loading lines={8} />;
  return (
    <div className="transcript scroll" tabIndex={0} role="region" aria-label="Transcript">
      <div className="transcript-column">
        <div ref={top}>{older && <Loading lines={2} />}</div>
        {items.length === 0 && !transcript.draft && (
          <Empty title={mode === "MODEL" ? "The model sees nothing yet." : "The log is empty."} />
        )}
        <ol ref={list} className="events">
          {items.map((run) => (
            <EventItem
              key={run.events[0].id}
              sessionId={id}
              run={run}
              target={run.events[0].seq === at}
              goTo={goTo}
            />
          ))}
        </ol>
        {transcript.draft && mode === "MODEL" && (
          <p className="draft" aria-label="Being written">
            {transcript.draft}
          </p>
        )}
        <div ref={bottom}>{newer && <Loading lines={2} />}</div>
      </div>
    </div>
  );
}

/** Brings an event into view and gives it the focus; false when it is not on screen. */
function show(seq: number): boolean {
  const item = document.getElementById(`event-${seq}`);
  item?.scrollIntoView({ block: "center" });
  item?.querySelector<HTMLElement>(".event-seq")?.focus({ preventScroll: true });
  return item !== null;
}
