import { useEffect, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { graphql } from "../gql";
import type { SessionFilter, SessionRowFragment } from "../gql/graphql";
import { useQuery } from "urql";
import { sessionAddress, useQueryParameters } from "../ui/addresses";
import { AvailabilityBadge } from "../ui/badges";
import { counted } from "../ui/counted";
import { Empty, Failed, Loading } from "../ui/states";
import { Time } from "../ui/Time";
import { useReached } from "../ui/useReached";
import {
  AVAILABILITIES,
  formatFilters,
  type ListFilters,
  NO_FILTERS,
  parseFilters,
  SOURCES,
  toSessionFilters,
} from "./filters";
import { useSessionList } from "./useSessionList";

const ServerFacts = graphql(`
  query ServerFacts {
    server {
      version
      sessions
      events
    }
  }
`);

export function SessionsScreen() {
  const search = useQueryParameters().toString();
  const [, navigate] = useLocation();
  const filters = useMemo(() => parseFilters(search), [search]);
  const asked = useMemo(() => toSessionFilters(filters), [filters]);
  const [cwds, setCwds] = useState<readonly string[]>([]);
  const [{ data }] = useQuery({ query: ServerFacts, requestPolicy: "cache-and-network" });

  const change = (part: Partial<ListFilters>): void => {
    const next = formatFilters({ ...filters, ...part });
    navigate(next ? `/?${next}` : "/", { replace: true });
  };

  return (
    <div className="page scroll">
      <div className="page-heading">
        <h1>Sessions</h1>
        {data && (
          <p className="quiet">
            {counted(data.server.sessions, "session")} with {counted(data.server.events, "event")}
          </p>
        )}
      </div>
      <FilterBar filters={filters} cwds={cwds} change={change} />
      {/* A list of its own for every set of filters: no page of one ever joins another. */}
      <SessionList
        key={search}
        filters={asked}
        seenCwds={setCwds}
        filtered={asked.length > 0}
        clear={() => change(NO_FILTERS)}
      />
    </div>
  );
}

interface FilterBarProps {
  filters: ListFilters;
  cwds: readonly string[];
  change: (part: Partial<ListFilters>) => void;
}

function FilterBar({ filters, cwds, change }: FilterBarProps) {
  return (
    <form className="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label className="filter-wide">
        Title
        <input
          type="search"
          value={filters.title}
          onChange={(event) => change({ title: event.target.value })}
        />
      </label>
      <label className="filter-wide">
        Directory
        <select value={filters.cwd} onChange={(event) => change({ cwd: event.target.value })}>
          <option value="">any</option>
          {[...new Set([...cwds, ...(filters.cwd ? [filters.cwd] : [])])].map((cwd) => (
            <option key={cwd}>{cwd}</option>
          ))}
        </select>
      </label>
      <label>
        Source
        <select
          value={filters.source}
          onChange={(event) =>
            change({ source: SOURCES.find((source) => source === event.target.value) ?? "" })
          }
        >
          <option value="">any</option>
          {SOURCES.map((source) => (
            <option key={source} value={source}>
              {sourceName(source)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Availability
        <select
          value={filters.availability}
          onChange={(event) =>
            change({
              availability: AVAILABILITIES.find((value) => value === event.target.value) ?? "",
            })
          }
        >
          <option value="">any</option>
          {AVAILABILITIES.map((value) => (
            <option key={value} value={value}>
              {value.toLowerCase()}
            </option>
          ))}
        </select>
      </label>
      <label>
        From
        <input
          type="date"
          value={filters.from}
          onChange={(event) => change({ from: event.target.value })}
        />
      </label>
      <label>
        To
        <input
          type="date"
          value={filters.to}
          onChange={(event) => change({ to: event.target.value })}
        />
      </label>
    </form>
  );
}

interface SessionListProps {
  filters: SessionFilter[];
  filtered: boolean;
  seenCwds: (cwds: readonly string[]) => void;
  clear: () => void;
}

function SessionList({ filters, filtered, seenCwds, clear }: SessionListProps) {
  const { sessions, error, fetching, loaded, hasMore, more, restart } = useSessionList(filters);
  const end = useReached<HTMLDivElement>(hasMore && !fetching ? more : null);

  useEffect(() => {
    if (filtered) return; // an unfiltered list knows the directories to choose from
    seenCwds([...new Set(sessions.flatMap(({ header }) => header.cwd ?? []))].sort());
  }, [sessions, filtered, seenCwds]);

  if (error && !loaded) return <Failed error={error} retry={restart} />;
  if (!loaded) return <Loading lines={10} />;
  if (sessions.length === 0)
    return filtered ? (
      <Empty title="No session matches these filters.">
        <button type="button" onClick={clear}>
          Clear the filters
        </button>
      </Empty>
    ) : (
      <Empty title="No sessions yet.">
        Import what a recorder left with <code>sessiongraph import</code>, or let an agent write
        with <code>createSession</code>.
      </Empty>
    );
  return (
    <>
      <ul className="rows" aria-label="Sessions">
        {sessions.map((session) => (
          <SessionItem key={session.id} session={session} />
        ))}
      </ul>
      {error && <Failed error={error} retry={restart} />}
      <div ref={end}>{hasMore && <Loading lines={2} />}</div>
    </>
  );
}

function SessionItem({ session }: { session: SessionRowFragment }) {
  const { header } = session;
  return (
    <li className="row">
      <Link href={sessionAddress(session.id)}>
        <span className={session.title ? "row-title" : "row-title mono"}>
          {session.title ?? session.id}
        </span>
        <span className="row-badges">
          {header.parentSession && <span className="badge">{header.origin ?? "fork"}</span>}
          <AvailabilityBadge live={session.live} persisted={session.persisted} />
        </span>
        <span className="row-facts quiet">
          <span className="mono row-cwd">{header.cwd ?? "no directory"}</span>
          <span>{sourceName(header.source.kind)}</span>
          <span>{counted(session.lastSeq + 1, "event")}</span>
          <Time at={header.createdAt} />
        </span>
      </Link>
    </li>
  );
}

function sourceName(kind: string): string {
  const names: Record<string, string> = { CLAUDE_CODE: "Claude Code", CODEX: "Codex" };
  return names[kind] ?? (kind === "OTHER" ? "other" : kind);
}
