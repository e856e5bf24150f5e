import { type KeyboardEvent, useId, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useMutation, useQuery } from "urql";
import { graphql } from "../gql";
import type { SessionRowFragment } from "../gql/graphql";
import { errorText } from "../graphql/errors";
import { type Mention, mentionAt, withMention } from "./mention";
import { Preview } from "./Preview";

const Candidates = graphql(`
  query Candidates($sessionId: ID!, $query: String!) {
    referenceCandidates(sessionId: $sessionId, query: $query, limit: 8) {
      sessionId
      label
      cwd
      sameCwd
      mention
    }
  }
`);

const PostMessage = graphql(`
  mutation PostMessage($input: PostMessageInput!) {
    postMessage(input: $input) {
      session {
        ...SessionRow
      }
      message {
        id
        seq
      }
    }
  }
`);

const Resume = graphql(`
  mutation Resume($id: ID!) {
    resumeSession(id: $id) {
      session {
        ...SessionRow
      }
    }
  }
`);

/** Writes to a session. The message itself appears in the transcript, over the live tail. */
export function Composer({ session }: { session: SessionRowFragment }) {
  // The mutation's answer carries the session, so the cache turns this into the form by itself.
  const [resuming, resume] = useMutation(Resume);
  if (session.live) return <MessageForm sessionId={session.id} />;
  return (
    <div className="composer composer-closed">
      <span className="quiet">This session is closed.</span>
      {resuming.error && <span role="alert">{errorText(resuming.error)}</span>}
      <button
        type="button"
        disabled={resuming.fetching}
        onClick={() => void resume({ id: session.id })}
      >
        Resume it
      </button>
    </div>
  );
}

function MessageForm({ sessionId }: { sessionId: string }) {
  const [text, setText] = useState("");
  const [mention, setMention] = useState<Mention | null>(null);
  const [chosen, setChosen] = useState(0);
  const [preview, setPreview] = useState(false);
  const [posting, post] = useMutation(PostMessage);
  const field = useRef<HTMLTextAreaElement>(null);
  const listId = useId();

  const [{ data }] = useQuery({
    query: Candidates,
    variables: { sessionId, query: mention?.query ?? "" },
    pause: mention === null,
  });
  const candidates = mention ? (data?.referenceCandidates ?? []) : [];
  const listed = candidates.length > 0;

  const look = (): void => {
    const { value = "", selectionStart = 0 } = field.current ?? {};
    setMention(mentionAt(value, selectionStart));
    setChosen(0);
  };

  const insert = (index: number): void => {
    const candidate = candidates[index];
    if (!candidate || !mention) return;
    const next = withMention(text, mention, candidate.mention);
    // At once: a letter that is typed before the caret is set would stand behind all later ones.
    flushSync(() => {
      setText(next.text);
      setMention(null);
    });
    field.current?.focus();
    field.current?.setSelectionRange(next.caret, next.caret);
  };

  const send = async (): Promise<void> => {
    if (!text.trim() || posting.fetching) return;
    const { error } = await post({ input: { sessionId, text } });
    if (error) return; // the words stay where they are
    setText("");
    setMention(null);
    setPreview(false);
  };

  const keys = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return; // Enter ends the input method's word
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (listed && step) setChosen((chosen + step + candidates.length) % candidates.length);
    else if (listed && (event.key === "Enter" || event.key === "Tab")) insert(chosen);
    else if (listed && event.key === "Escape") setMention(null);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
    else return;
    event.preventDefault();
  };

  return (
    <form
      className="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {preview && <Preview sessionId={sessionId} text={text} />}
      {listed && (
        <ul className="candidates" role="listbox" id={listId} aria-label="Sessions to mention">
          {candidates.map((candidate, index) => (
            // The text field keeps the focus and takes the keys; this is for the mouse.
            <li
              key={candidate.sessionId}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseDown={(event) => {
                event.preventDefault();
                insert(index);
              }}
            >
              <span>{candidate.label}</span>
              <span className="quiet mono">
                {candidate.sameCwd ? "same directory" : (candidate.cwd ?? "no directory")}
              </span>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field}
        rows={2}
        role="combobox"
        aria-label="Message to this session"
        aria-expanded={listed}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={listed ? `${listId}-${chosen}` : undefined}
        placeholder="Write a message; @ mentions another session"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          look();
        }}
        onKeyDown={keys}
        onBlur={() => setMention(null)}
      />
      <div className="composer-tools">
        {posting.error && <span role="alert">{errorText(posting.error)}</span>}
        <button
          type="button"
          className="plain"
          aria-expanded={preview}
          disabled={!text.trim()}
          onClick={() => setPreview(!preview)}
        >
          {preview ? "Hide the preview" : "Preview"}
        </button>
        <button type="submit" className="primary" disabled={!text.trim() || posting.fetching}>
          Send
        </button>
      </div>
    </form>
  );
}
