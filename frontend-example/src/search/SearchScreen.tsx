import { useState } from "react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { graphql } from "../gql";
import type { SearchHitFragment, SessionRowFragment } from "../gql/graphql";
import { errorCode } from "../graphql/errors";
import { eventAddress, sessionAddress, useQueryParameters } from "../ui/addresses";
import { AvailabilityBadge, SurfaceBadge } from "../ui/badges";
import { counted } from "../ui/counted";
import { Empty, Failed, Loading } from "../ui/states";
import { Time } from "../ui/Time";
import { pieces } from "./highlight";

export const SearchHit = graphql(`
  fragment SearchHit on EventSearchHit {
    sessionId
    seq
    type
    time
    surface
    snippet
    highlights {
      start
      end
    }
  }
`);

const SearchSessions = graphql(`
  query SearchSessions($query: String!, $first: Int!) {
    searchSessions(query: $query, first: $first) {
      nodes {
        session {
          ...SessionRow
        }
        bestMatch {
          ...SearchHit
        }
      }
      pageInfo {
        hasNextPage
      }
    }
  }
`);

const SearchEvents = graphql(`
  query SearchEvents($sessionId: ID!, $query: String!) {
    searchEvents(sessionId: $sessionId, query: $query, first: 20) {
      nodes {
        ...SearchHit
      }
      pageInfo {
        hasNextPage
      }
    }
  }
`);

const FIRST = 15;
const ALL = 100;

export function SearchScreen() {
  const query = (useQueryParameters().get("q") ?? "").trim();
  return (
    <div className="page scroll">
      <h1>Search</h1>
      {query ? (
        <Results query={query} />
      ) : (
        <Empty title="Type to search.">
          Every word must occur in one event. Chinese, Japanese and Korean need no spaces.
        </Empty>
      )}
    </div>
  );
}

function Results({ query }: { query: string }) {
  // How many are wanted belongs to one query: typing on begins with the first few again.
  const [everythingOf, setEverythingOf] = useState<string | null>(null);
  const first = everythingOf === query ? ALL : FIRST;
  // While a newer answer is on its way the last one stays, so that nothing flickers while typing.
  const [{ data, error, fetching }, search] = useQuery({
    query: SearchSessions,
    variables: { query, first },
    requestPolicy: "cache-and-network",
  });
  const hits = data?.searchSessions?.nodes;

  if (error && !hits) {
    return errorCode(error) === "SESSION_QUERY_INVALID_QUERY" ? (
      <Empty title="Nothing in this could be found.">Type a word.</Empty>
    ) : (
      <Failed error={error} retry={() => search({ requestPolicy: "network-only" })} />
    );
  }
  if (!hits) return <Loading />;
  if (hits.length === 0)
    return (
      <Empty title={fetching ? "Searching …" : "No event has all of these words."}>
        Whole words are matched, so the last one may just not be finished.
      </Empty>
    );
  return (
    <div aria-busy={fetching}>
      <p className="quiet" role="status">
        {data.searchSessions?.pageInfo.hasNextPage
          ? `${hits.length} or more sessions`
          : counted(hits.length, "session")}
      </p>
      <ul className="hits" aria-label="Sessions that match">
        {hits.map(({ session, bestMatch }) => (
          <SessionHits key={session.id} session={session} best={bestMatch} query={query} />
        ))}
      </ul>
      {data.searchSessions?.pageInfo.hasNextPage && first === FIRST && (
        <button type="button" onClick={() => setEverythingOf(query)}>
          Show more sessions
        </button>
      )}
    </div>
  );
}

interface SessionHitsProps {
  session: SessionRowFragment;
  best: SearchHitFragment;
  query: string;
}

function SessionHits({ session, best, query }: SessionHitsProps) {
  const [openFor, setOpenFor] = useState<string | null>(null);
  const open = openFor === query;
  return (
    <li className="hit-group">
      <div className="hit-session">
        <h2>
          <Link href={sessionAddress(session.id)}>{session.title ?? session.id}</Link>
        </h2>
        <AvailabilityBadge live={session.live} persisted={session.persisted} />
        <span className="quiet mono">{session.header.cwd}</span>
        <button
          type="button"
          className="plain"
          aria-expanded={open}
          onClick={() => setOpenFor(open ? null : query)}
        >
          {open ? "Best match only" : "All matches here"}
        </button>
      </div>
      {open ? (
        <AllHits sessionId={session.id} query={query} />
      ) : (
        <ul>
          <Hit hit={best} />
        </ul>
      )}
    </li>
  );
}

function AllHits({ sessionId, query }: { sessionId: string; query: string }) {
  const [{ data, error }] = useQuery({ query: SearchEvents, variables: { sessionId, query } });
  if (error) return <Failed error={error} />;
  if (!data?.searchEvents) return <Loading lines={3} />;
  return (
    <ul>
      {data.searchEvents.nodes.map((hit) => (
        <Hit key={hit.seq} hit={hit} />
      ))}
    </ul>
  );
}

function Hit({ hit }: { hit: SearchHitFragment }) {
  return (
    <li className="hit">
      <Link href={eventAddress(hit.sessionId, hit.seq)}>
        <span className="hit-facts quiet">
          <span className="mono">
            #{hit.seq} {hit.type}
          </span>
          <SurfaceBadge surface={hit.surface} />
          <Time at={hit.time} />
        </span>
        <span className="hit-snippet">
          {pieces(hit.snippet, hit.highlights).map((piece, index) =>
            piece.hit ? <mark key={index}>{piece.text}</mark> : piece.text,
          )}
        </span>
      </Link>
    </li>
  );
}
