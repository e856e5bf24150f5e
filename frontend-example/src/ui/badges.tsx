import type { EventSurface } from "../gql/graphql";

const SURFACES: Record<EventSurface, { label: string; meaning: string }> = {
  CURRENT: { label: "current", meaning: "The model sees it now" },
  SHADOWED: { label: "shadowed", meaning: "The model saw it once; something took its place" },
  LOG_ONLY: { label: "log only", meaning: "Part of the log, never of the model's context" },
};

export function SurfaceBadge({ surface }: { surface: EventSurface }) {
  const { label, meaning } = SURFACES[surface];
  return (
    <span className={`badge surface-${surface.toLowerCase()}`} title={meaning}>
      {label}
    </span>
  );
}

export function AvailabilityBadge({ live, persisted }: { live: boolean; persisted: boolean }) {
  return (
    <>
      {live && (
        <span className="badge badge-live" title="Open: agents and people can append to it">
          live
        </span>
      )}
      {persisted && (
        <span className="badge" title="On disk">
          persisted
        </span>
      )}
    </>
  );
}
