import { useState } from "react";
import { useQuery } from "urql";
import { graphql } from "../gql";

const Trace = graphql(`
  query Trace($id: ID!, $seq: Int!) {
    session(id: $id) {
      id
      trace(seq: $seq) {
        replacementChain
        replacedEventSeqs
        sourceEventSeqs
        derivedEventSeqs
      }
    }
  }
`);

interface Props {
  sessionId: string;
  seq: number;
  goTo: (seq: number) => void;
}

/** What took the place of an event, step by step to what stands there now, and what it removed. */
export function ReplacementChain({ sessionId, seq, goTo }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <div className="chain">
      <button type="button" className="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide the replacements" : "Show the replacements"}
      </button>
      {open && <Chain sessionId={sessionId} seq={seq} goTo={goTo} />}
    </div>
  );
}

function Chain({ sessionId, seq, goTo }: Props) {
  const [{ data, error }] = useQuery({
    query: Trace,
    variables: { id: sessionId, seq },
    requestPolicy: "cache-and-network",
  });
  if (error) return <p role="alert">{error.message}</p>;
  const trace = data?.session?.trace;
  if (!trace) return <p className="quiet">Loading …</p>;
  const { replacedEventSeqs: removed, replacementChain: chain } = trace;
  return (
    <>
      <ol className="chain-steps" aria-label={`Replacements of event ${seq}`}>
        {removed.length > 0 && (
          <li className="chain-step surface-shadowed">
            <Seqs seqs={removed} goTo={goTo} />
          </li>
        )}
        <li className={`chain-step ${chain.length > 0 ? "surface-shadowed" : "surface-current"}`}>
          <strong className="mono">#{seq}</strong>
        </li>
        {chain.map((next, index) => (
          <li
            key={next}
            className={`chain-step ${index < chain.length - 1 ? "surface-shadowed" : "surface-current"}`}
          >
            <Seqs seqs={[next]} goTo={goTo} />
            {index === chain.length - 1 && <span className="quiet"> stands now</span>}
          </li>
        ))}
      </ol>
      {trace.sourceEventSeqs.length > 0 && (
        <p className="quiet">
          cites <Seqs seqs={trace.sourceEventSeqs} goTo={goTo} />
        </p>
      )}
      {trace.derivedEventSeqs.length > 0 && (
        <p className="quiet">
          cited by <Seqs seqs={trace.derivedEventSeqs} goTo={goTo} />
        </p>
      )}
    </>
  );
}

const SHOWN = 6;

function Seqs({ seqs, goTo }: { seqs: readonly number[]; goTo: (seq: number) => void }) {
  return (
    <span className="seqs">
      {seqs.slice(0, SHOWN).map((seq) => (
        <button type="button" key={seq} className="plain mono" onClick={() => goTo(seq)}>
          #{seq}
        </button>
      ))}
      {seqs.length > SHOWN && <span className="quiet">and {seqs.length - SHOWN} more</span>}
    </span>
  );
}
