// The normalised cache: one copy of every session and event, whichever operation brought it. A change
// that comes in over `corpus` therefore reaches every list and every heading that shows the session.
import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import schema from "../gql/introspection.json";

/** Values without an identity of their own live inside the object that holds them. */
const embedded = [
  "ActivityView",
  "ContentBlock",
  "ContextPressureView",
  "CorpusChange",
  "CustomView",
  "EventSearchConnection",
  "EventSearchHit",
  "EventTrace",
  "EventWindow",
  "GoalView",
  "LineageConnection",
  "LineageNode",
  "ObservationFailure",
  "PageInfo",
  "PermissionsView",
  "PlanView",
  "PreparedMessage",
  "ProjectionChange",
  "ProjectionSnapshot",
  "ReferenceCandidate",
  "ReferenceContext",
  "ReferenceStats",
  "ServerInfo",
  "SessionCitation",
  "SessionHeader",
  "SessionSearchHit",
  "SessionSource",
  "SessionStatsView",
  "SubagentView",
  "SurfaceOp",
  "SurfaceSnapshot",
  "TextSpan",
  "TitleView",
  "TodoItem",
  "TodosView",
  "TokenUsage",
  "TokenUsageView",
  "TurnLine",
  "TurnOutlineView",
];

export const cache = cacheExchange({
  // Knowing the schema, the cache matches fragments on interfaces, and lets a failed nullable field
  // be null without losing its siblings.
  schema,
  keys: {
    ...Object.fromEntries(embedded.map((type) => [type, () => null])),
    CompleteLineage: () => null,
    PartialLineage: () => null,
  },
  resolvers: {
    // The pages of one filtered list, read as one.
    Query: { sessions: relayPagination() },
  },
});
