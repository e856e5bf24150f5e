import { useState } from "react";
import { useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { Composer } from "../composer/Composer";
import { graphql } from "../gql";
import { ProjectionsPanel } from "../projections/ProjectionsPanel";
import { eventAddress, lineageAddress, sessionAddress, useQueryParameters } from "../ui/addresses";
import { AvailabilityBadge } from "../ui/badges";
import { Empty, Failed, Loading } from "../ui/states";
import { Time } from "../ui/Time";
import { TranscriptView } from "./TranscriptView";

// Known from the list already: the cache shows it at once and asks for what is new behind it.
const Session = graphql(`
  query Session($id: ID!) {
    session(id: $id) {
      ...SessionRow
    }
  }
`);

export function SessionScreen({ id }: { id: string }) {
  const [{ data, error, fetching }, read] = useQuery({
    query: Session,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const [panel, setPanel] = useState(false);
  const search = useQueryParameters();
  const [, navigate] = useLocation();
  const asked = search.get("seq");
  const seq = asked !== null && /^\d+$/.test(asked) ? Number(asked) : null;
  const everything = seq !== null || search.get("show") === "log";

  const session = data?.session;
  if (!session) {
    return (
      <div className="page">
        {error ? (
          <Failed error={error} retry={() => read({ requestPolicy: "network-only" })} />
        ) : fetching ? (
          <Loading />
        ) : (
          <Empty title="There is no such session.">
            <Link href="/">All sessions</Link>
          </Empty>
        )}
      </div>
    );
  }
  const { header } = session;
  return (
    <div className="session">
      <div className="session-main">
        <div className="session-heading">
          <h1 className={session.title ? undefined : "mono"}>{session.title ?? session.id}</h1>
          <p className="facts quiet">
            <AvailabilityBadge live={session.live} persisted={session.persisted} />
            <span className="mono">{session.id}</span>
            <span className="mono">{header.cwd}</span>
            <Time at={header.createdAt} />
            {header.parentSession && (
              <span>
                {header.origin ?? "fork"} of{" "}
                <Link href={sessionAddress(header.parentSession)}>{header.parentSession}</Link>
              </span>
            )}
          </p>
          <div className="session-tools">
            <label className="switch">
              <input
                type="checkbox"
                role="switch"
                checked={everything}
                onChange={(event) =>
                  navigate(
                    event.target.checked ? `${sessionAddress(id)}?show=log` : sessionAddress(id),
                    { replace: true },
                  )
                }
              />
              Shadowed and log-only events
            </label>
            <Link href={lineageAddress(id)} className="button">
              Lineage
            </Link>
            <button
              type="button"
              className="panel-switch"
              aria-expanded={panel}
              aria-controls="projections"
              onClick={() => setPanel(!panel)}
            >
              Values
            </button>
          </div>
        </div>
        <TranscriptView
          key={everything ? "log" : "model"}
          id={id}
          mode={everything ? "LOG" : "MODEL"}
          at={seq}
          open={(at) => navigate(eventAddress(id, at))}
        />
        <Composer session={session} />
      </div>
      <ProjectionsPanel id={id} open={panel} close={() => setPanel(false)} />
    </div>
  );
}
