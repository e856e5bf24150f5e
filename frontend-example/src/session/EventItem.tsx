import { memo, useState } from "react";
import { useQuery } from "urql";
import { graphql } from "../gql";
import type { TranscriptEventFragment as Event } from "../gql/graphql";
import { SurfaceBadge } from "../ui/badges";
import { RichText } from "../ui/RichText";
import { Time } from "../ui/Time";
import { ReplacementChain } from "./ReplacementChain";
import type { Run } from "./transcript";

const EventPayload = graphql(`
  query EventPayload($id: ID!, $seq: Int!) {
    session(id: $id) {
      id
      event(seq: $seq) {
        target {
          id
          data
        }
      }
    }
  }
`);

interface EventItemProps {
  sessionId: string;
  run: Run;
  /** Whether this is the event that the address names. */
  target: boolean;
  goTo: (seq: number) => void;
}

/** One event of a transcript. Items are many and change seldom, hence `memo`. */
export const EventItem = memo(function EventItem({ sessionId, run, target, goTo }: EventItemProps) {
  const [event] = run.events;
  const last = run.events.at(-1) ?? event;
  const [open, setOpen] = useState(false);
  const replaces = event.surfaceOp?.op === "REPLACE";
  const kind = event.surface === "LOG_ONLY" ? "log" : role(event);
  return (
    <li
      id={`event-${event.seq}`}
      className={`event event-${kind} surface-${event.surface.toLowerCase()}`}
      aria-current={target || undefined}
    >
      <div className="event-head">
        <div className="event-title">
          <button
            type="button"
            className="event-seq mono"
            aria-expanded={open}
            aria-label={`Event ${event.seq}: details`}
            onClick={() => setOpen(!open)}
          >
            #{event.seq}
            {last !== event && `–${last.seq}`}
          </button>
          <span className="event-who">{who(event)}</span>
          {event.surface === "SHADOWED" && <SurfaceBadge surface={event.surface} />}
          {event.surface === "LOG_ONLY" && <span className="unseen">log only</span>}
          {replaces && <span className="badge badge-replaces">took the place of others</span>}
        </div>
        <Time at={event.time} />
      </div>
      <div className="event-body">
        <Body run={run} />
      </div>
      {(event.replacedBy !== null || replaces) && (
        <ReplacementChain sessionId={sessionId} seq={event.seq} goTo={goTo} />
      )}
      {open && <Payload sessionId={sessionId} seq={event.seq} />}
    </li>
  );
});

function role(event: Event): string {
  switch (event.__typename) {
    case "UserMessageEvent":
      return event.sourceKind === "user" ? "person" : "context";
    case "AssistantMessageEvent":
      return "model";
    case "ToolResultEvent":
      return event.isError ? "tool event-error" : "tool";
    default:
      return "context";
  }
}

function who(event: Event): string {
  switch (event.__typename) {
    case "UserMessageEvent":
      return event.sourceKind === "user" ? "Person" : event.sourceKind;
    case "AssistantMessageEvent":
      return event.model ?? "Model";
    case "ToolResultEvent":
      return event.isError ? "Tool failed" : "Tool result";
    case "GenericEvent":
    case "ToolCallEvent":
    case "TodoWriteEvent":
    case "TitleEvent":
    case "TurnEndEvent":
      return event.type;
  }
}

function Body({ run }: { run: Run }) {
  const [event] = run.events;
  switch (event.__typename) {
    case "UserMessageEvent":
      return event.sourceKind === "user" ? (
        <RichText text={event.text} />
      ) : (
        <Folded text={event.text} open={event.text.length < 400} />
      );
    case "AssistantMessageEvent":
      return (
        <>
          {event.content.map((block, index) =>
            block.type === "text" ? (
              <RichText key={index} text={block.text ?? ""} />
            ) : block.type === "tool-call" ? (
              <Call key={index} {...call(block.data)} />
            ) : (
              <Folded key={index} text={block.text ?? JSON.stringify(block.data, null, 2)} />
            ),
          )}
          {event.interrupted && <p className="quiet">interrupted</p>}
        </>
      );
    case "ToolCallEvent":
      return <Call name={event.name} input={event.arguments} />;
    case "ToolResultEvent":
      return <Folded text={event.text} mono open={event.text.length < 300} />;
    case "TodoWriteEvent":
      return <p>{event.todos.map((todo) => `${todo.content} (${todo.status})`).join(" · ")}</p>;
    case "TitleEvent":
      return <p>{event.title}</p>;
    case "TurnEndEvent":
      return (
        <p>
          turn {event.turn}: {event.reason}
          {event.error && ` (${event.error})`}
        </p>
      );
    case "GenericEvent":
      return <p className="mono one-line">{summary(run)}</p>;
  }
}

/** A block of an assistant's message that calls a tool, as every recorder of it writes it. */
function call(data: unknown): { name: string; input: string } {
  const { name = "tool", arguments: input = "" } = data as { name?: string; arguments?: unknown };
  return { name, input: typeof input === "string" ? input : JSON.stringify(input) };
}

function Call({ name, input }: { name: string; input: string }) {
  return (
    <details className="call">
      <summary>
        <span className="call-name mono">{name}</span>
        <span className="mono one-line">{input}</span>
      </summary>
      <pre>{pretty(input)}</pre>
    </details>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json; // models write broken JSON; show what they wrote
  }
}

function Folded({ text, mono, open }: { text: string; mono?: boolean; open?: boolean }) {
  const first = text.trimStart().split("\n", 1)[0] ?? "";
  return (
    <details className="folded" open={open}>
      <summary className={mono ? "mono one-line" : "one-line"}>{first || "(empty)"}</summary>
      {mono ? <pre>{text}</pre> : <RichText text={text} />}
    </details>
  );
}

function summary({ events }: Run): string {
  const text = events.map((event) => {
    const { chunk } = (event.__typename === "GenericEvent" ? event.data : {}) as {
      chunk?: { text?: string };
    };
    return chunk?.text ?? "";
  });
  if (events.length > 1 || text[0]) return text.join("");
  const [event] = events;
  const data = event.__typename === "GenericEvent" ? JSON.stringify(event.data) : "";
  return data.length > 300 ? `${data.slice(0, 300)} …` : data;
}

function Payload({ sessionId, seq }: { sessionId: string; seq: number }) {
  const [{ data, error, fetching }] = useQuery({
    query: EventPayload,
    variables: { id: sessionId, seq },
  });
  if (fetching) return <p className="quiet">Loading …</p>;
  if (error) return <p role="alert">{error.message}</p>;
  return (
    <pre className="payload">{JSON.stringify(data?.session?.event?.target.data, null, 2)}</pre>
  );
}
