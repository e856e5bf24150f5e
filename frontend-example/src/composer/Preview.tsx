import { useDeferredValue } from "react";
import { useQuery } from "urql";
import { graphql } from "../gql";
import { errorText } from "../graphql/errors";
import { counted } from "../ui/counted";

const Prepare = graphql(`
  query Prepare($sessionId: ID!, $text: String!) {
    prepareMessage(sessionId: $sessionId, text: $text) {
      text
      additionalContext {
        content
        bytes
        references {
          sessionId
          label
          capturedThroughSeq
          retainedMessages
          originalMessages
          omittedMessages
          truncated
        }
      }
    }
  }
`);

/** Exactly what sending would log: the words, and beside them the snapshots of what they mention. */
export function Preview({ sessionId, text }: { sessionId: string; text: string }) {
  const settled = useDeferredValue(text);
  const [{ data, error }] = useQuery({
    query: Prepare,
    variables: { sessionId, text: settled },
    pause: !settled.trim(),
    requestPolicy: "network-only", // the mentioned sessions move on
  });
  if (!settled.trim()) return null;
  if (error) return <p role="alert">{errorText(error)}</p>;
  const prepared = data?.prepareMessage;
  if (!prepared) return <p className="quiet">Preparing …</p>;
  const context = prepared.additionalContext;
  return (
    <section className="preview" aria-label="Preview">
      <p className="preview-text">{prepared.text}</p>
      {context ? (
        <>
          <p className="quiet">
            and {context.bytes.toLocaleString()} bytes of context, marked untrusted:
          </p>
          <ul className="preview-references">
            {context.references.map((reference) => (
              <li key={reference.sessionId}>
                <strong>{reference.label}</strong>{" "}
                <span className="quiet">
                  {reference.retainedMessages} of {counted(reference.originalMessages, "message")}
                  {reference.capturedThroughSeq !== null &&
                    `, through #${reference.capturedThroughSeq}`}
                  {reference.truncated && ", cut to fit"}
                </span>
              </li>
            ))}
          </ul>
          <pre tabIndex={0} aria-label="Injected context">
            {context.content}
          </pre>
        </>
      ) : (
        <p className="quiet">No session is mentioned: nothing is added.</p>
      )}
    </section>
  );
}
