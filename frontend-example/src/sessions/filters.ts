// The filters of the session list live in the address, so that a filtered list can be bookmarked.
import type { SessionAvailability, SessionFilter, SessionSourceKind } from "../gql/graphql";

export const SOURCES: readonly SessionSourceKind[] = [
  "API",
  "DSH",
  "CLAUDE_CODE",
  "CODEX",
  "OTHER",
];
export const AVAILABILITIES: readonly SessionAvailability[] = ["LIVE", "PERSISTED"];

/** Days as `<input type="date">` has them; `cwd` is exact and `title` a part of it. */
export interface ListFilters {
  title: string;
  cwd: string;
  source: SessionSourceKind | "";
  availability: SessionAvailability | "";
  from: string;
  to: string;
}

export const NO_FILTERS: ListFilters = {
  title: "",
  cwd: "",
  source: "",
  availability: "",
  from: "",
  to: "",
};

export function parseFilters(search: string): ListFilters {
  const asked = new URLSearchParams(search);
  const text = (key: keyof ListFilters): string => asked.get(key) ?? "";
  return {
    title: text("title"),
    cwd: text("cwd"),
    source: SOURCES.find((source) => source === text("source")) ?? "",
    availability: AVAILABILITIES.find((value) => value === text("availability")) ?? "",
    from: text("from"),
    to: text("to"),
  };
}

export function formatFilters(filters: ListFilters): string {
  const set = Object.entries(filters).filter(([, value]) => value !== "");
  return new URLSearchParams(set as [string, string][]).toString();
}

/** The filters in the API's terms: one predicate each, all of which must hold. */
export function toSessionFilters(filters: ListFilters): SessionFilter[] {
  const { title, cwd, source, availability, from, to } = filters;
  const all: SessionFilter[] = [];
  if (title.trim()) all.push({ title: title.trim() });
  if (cwd) all.push({ cwd: [cwd] });
  if (source) all.push({ source: [source] });
  if (availability) all.push({ availability: [availability] });
  const range = { from: startOfDay(from), to: endOfDay(to) };
  if (range.from !== null || range.to !== null) all.push({ createdAt: range });
  return all;
}

function startOfDay(day: string): number | null {
  const time = new Date(`${day}T00:00:00`).getTime();
  return Number.isNaN(time) ? null : time;
}

function endOfDay(day: string): number | null {
  const time = new Date(`${day}T23:59:59.999`).getTime();
  return Number.isNaN(time) ? null : time;
}
