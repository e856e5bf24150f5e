/* eslint-disable */
import * as types from './graphql';
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';

/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "\n  query Candidates($sessionId: ID!, $query: String!) {\n    referenceCandidates(sessionId: $sessionId, query: $query, limit: 8) {\n      sessionId\n      label\n      cwd\n      sameCwd\n      mention\n    }\n  }\n": typeof types.CandidatesDocument,
    "\n  mutation PostMessage($input: PostMessageInput!) {\n    postMessage(input: $input) {\n      session {\n        ...SessionRow\n      }\n      message {\n        id\n        seq\n      }\n    }\n  }\n": typeof types.PostMessageDocument,
    "\n  mutation Resume($id: ID!) {\n    resumeSession(id: $id) {\n      session {\n        ...SessionRow\n      }\n    }\n  }\n": typeof types.ResumeDocument,
    "\n  query Prepare($sessionId: ID!, $text: String!) {\n    prepareMessage(sessionId: $sessionId, text: $text) {\n      text\n      additionalContext {\n        content\n        bytes\n        references {\n          sessionId\n          label\n          capturedThroughSeq\n          retainedMessages\n          originalMessages\n          omittedMessages\n          truncated\n        }\n      }\n    }\n  }\n": typeof types.PrepareDocument,
    "\n  fragment LineageSession on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      createdAt\n      origin\n    }\n  }\n": typeof types.LineageSessionFragmentDoc,
    "\n  fragment Citations on SessionRecord {\n    references(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n        target {\n          ...LineageSession\n        }\n      }\n    }\n    referencedBy(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n      }\n    }\n  }\n": typeof types.CitationsFragmentDoc,
    "\n  query Lineage($id: ID!, $after: Cursor) {\n    session(id: $id) {\n      ...LineageSession\n      ...Citations\n      lineage {\n        __typename\n        complete\n        ... on PartialLineage {\n          unresolvedParentId\n        }\n        ancestors {\n          ...LineageSession\n        }\n        descendants(first: 2000, after: $after) {\n          totalCount\n          nodes {\n            parentId\n            depth\n            session {\n              ...LineageSession\n            }\n          }\n          pageInfo {\n            hasNextPage\n            endCursor\n          }\n        }\n      }\n    }\n  }\n": typeof types.LineageDocument,
    "\n  query SessionsByIds($ids: [ID!]!) {\n    observeSessions(ids: $ids) {\n      __typename\n      ...LineageSession\n    }\n  }\n": typeof types.SessionsByIdsDocument,
    "\n  fragment View on ProjectionView {\n    __typename\n    key\n    seq\n    ... on TodosView {\n      todos {\n        content\n        status\n      }\n    }\n    ... on GoalView {\n      objective\n      phase\n      roundsStarted\n    }\n    ... on PlanView {\n      active\n      pending\n    }\n    ... on SessionStatsView {\n      turns\n      steps\n      llmMs\n      toolMs\n      ttftMs\n      ttftSteps\n      decodeMs\n      decodeTokens\n    }\n    ... on TokenUsageView {\n      uncachedInputTokens\n      outputTokens\n      cacheReadTokens\n      cacheWriteTokens\n    }\n    ... on ContextPressureView {\n      pressureTokens\n      contextWindow\n    }\n    ... on CustomView {\n      value\n    }\n  }\n": typeof types.ViewFragmentDoc,
    "\n  fragment Frame on ProjectionFrame {\n    __typename\n    ... on ProjectionSnapshot {\n      views {\n        ...View\n      }\n    }\n    ... on ProjectionChange {\n      view {\n        ...View\n      }\n    }\n  }\n": typeof types.FrameFragmentDoc,
    "\n  subscription Projections($id: ID!, $keys: [String!]) {\n    projections(sessionId: $id, keys: $keys) {\n      ...Frame\n    }\n  }\n": typeof types.ProjectionsDocument,
    "\n  fragment SearchHit on EventSearchHit {\n    sessionId\n    seq\n    type\n    time\n    surface\n    snippet\n    highlights {\n      start\n      end\n    }\n  }\n": typeof types.SearchHitFragmentDoc,
    "\n  query SearchSessions($query: String!, $first: Int!) {\n    searchSessions(query: $query, first: $first) {\n      nodes {\n        session {\n          ...SessionRow\n        }\n        bestMatch {\n          ...SearchHit\n        }\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n": typeof types.SearchSessionsDocument,
    "\n  query SearchEvents($sessionId: ID!, $query: String!) {\n    searchEvents(sessionId: $sessionId, query: $query, first: 20) {\n      nodes {\n        ...SearchHit\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n": typeof types.SearchEventsDocument,
    "\n  query EventPayload($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      event(seq: $seq) {\n        target {\n          id\n          data\n        }\n      }\n    }\n  }\n": typeof types.EventPayloadDocument,
    "\n  query Trace($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacementChain\n        replacedEventSeqs\n        sourceEventSeqs\n        derivedEventSeqs\n      }\n    }\n  }\n": typeof types.TraceDocument,
    "\n  query Session($id: ID!) {\n    session(id: $id) {\n      ...SessionRow\n    }\n  }\n": typeof types.SessionDocument,
    "\n  fragment TranscriptEvent on SessionEvent {\n    __typename\n    id\n    seq\n    type\n    time\n    surface\n    replacedBy\n    surfaceOp {\n      op\n      start\n      end\n    }\n    ... on UserMessageEvent {\n      text\n      sourceKind\n    }\n    ... on AssistantMessageEvent {\n      model\n      interrupted\n      content {\n        type\n        text\n        data\n      }\n    }\n    ... on ToolCallEvent {\n      name\n      arguments\n    }\n    ... on ToolResultEvent {\n      text\n      isError\n    }\n    ... on TodoWriteEvent {\n      todos {\n        content\n        status\n      }\n    }\n    ... on TitleEvent {\n      title\n    }\n    ... on TurnEndEvent {\n      turn\n      reason\n      error\n    }\n    ... on GenericEvent {\n      data\n    }\n  }\n": typeof types.TranscriptEventFragmentDoc,
    "\n  query SurfacePage($id: ID!, $last: Int!, $before: Cursor) {\n    session(id: $id) {\n      id\n      surface {\n        capturedThroughSeq\n        events(last: $last, before: $before) {\n          nodes {\n            ...TranscriptEvent\n          }\n          pageInfo {\n            hasPreviousPage\n            startCursor\n          }\n        }\n      }\n    }\n  }\n": typeof types.SurfacePageDocument,
    "\n  query LogPage($id: ID!, $range: SeqRange!, $first: Int, $last: Int) {\n    session(id: $id) {\n      id\n      lastSeq\n      events(filters: [{ seq: $range }], first: $first, last: $last) {\n        nodes {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n": typeof types.LogPageDocument,
    "\n  query LogWindow($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      lastSeq\n      event(seq: $seq, before: 30, after: 30) {\n        startSeq\n        endSeq\n        events {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n": typeof types.LogWindowDocument,
    "\n  query Removed($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacedEventSeqs\n      }\n    }\n  }\n": typeof types.RemovedDocument,
    "\n  subscription LiveTail($id: ID!, $afterSeq: Int!) {\n    sessionEvents(sessionId: $id, afterSeq: $afterSeq) {\n      ...TranscriptEvent\n    }\n  }\n": typeof types.LiveTailDocument,
    "\n  query ServerFacts {\n    server {\n      version\n      sessions\n      events\n    }\n  }\n": typeof types.ServerFactsDocument,
    "\n  fragment SessionRow on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      cwd\n      createdAt\n      origin\n      parentSession\n      source {\n        kind\n      }\n    }\n  }\n": typeof types.SessionRowFragmentDoc,
    "\n  query Sessions($filters: [SessionFilter!], $first: Int!, $after: Cursor) {\n    sessions(filters: $filters, first: $first, after: $after) {\n      nodes {\n        ...SessionRow\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n": typeof types.SessionsDocument,
    "\n  query SessionsNow($filters: [SessionFilter!], $first: Int!) {\n    now: sessions(filters: $filters, first: $first) {\n      nodes {\n        ...SessionRow\n      }\n    }\n  }\n": typeof types.SessionsNowDocument,
    "\n  subscription CorpusChanges($after: Cursor) {\n    corpus(after: $after) {\n      cursor\n      kind\n      sessionId\n    }\n  }\n": typeof types.CorpusChangesDocument,
};
const documents: Documents = {
    "\n  query Candidates($sessionId: ID!, $query: String!) {\n    referenceCandidates(sessionId: $sessionId, query: $query, limit: 8) {\n      sessionId\n      label\n      cwd\n      sameCwd\n      mention\n    }\n  }\n": types.CandidatesDocument,
    "\n  mutation PostMessage($input: PostMessageInput!) {\n    postMessage(input: $input) {\n      session {\n        ...SessionRow\n      }\n      message {\n        id\n        seq\n      }\n    }\n  }\n": types.PostMessageDocument,
    "\n  mutation Resume($id: ID!) {\n    resumeSession(id: $id) {\n      session {\n        ...SessionRow\n      }\n    }\n  }\n": types.ResumeDocument,
    "\n  query Prepare($sessionId: ID!, $text: String!) {\n    prepareMessage(sessionId: $sessionId, text: $text) {\n      text\n      additionalContext {\n        content\n        bytes\n        references {\n          sessionId\n          label\n          capturedThroughSeq\n          retainedMessages\n          originalMessages\n          omittedMessages\n          truncated\n        }\n      }\n    }\n  }\n": types.PrepareDocument,
    "\n  fragment LineageSession on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      createdAt\n      origin\n    }\n  }\n": types.LineageSessionFragmentDoc,
    "\n  fragment Citations on SessionRecord {\n    references(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n        target {\n          ...LineageSession\n        }\n      }\n    }\n    referencedBy(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n      }\n    }\n  }\n": types.CitationsFragmentDoc,
    "\n  query Lineage($id: ID!, $after: Cursor) {\n    session(id: $id) {\n      ...LineageSession\n      ...Citations\n      lineage {\n        __typename\n        complete\n        ... on PartialLineage {\n          unresolvedParentId\n        }\n        ancestors {\n          ...LineageSession\n        }\n        descendants(first: 2000, after: $after) {\n          totalCount\n          nodes {\n            parentId\n            depth\n            session {\n              ...LineageSession\n            }\n          }\n          pageInfo {\n            hasNextPage\n            endCursor\n          }\n        }\n      }\n    }\n  }\n": types.LineageDocument,
    "\n  query SessionsByIds($ids: [ID!]!) {\n    observeSessions(ids: $ids) {\n      __typename\n      ...LineageSession\n    }\n  }\n": types.SessionsByIdsDocument,
    "\n  fragment View on ProjectionView {\n    __typename\n    key\n    seq\n    ... on TodosView {\n      todos {\n        content\n        status\n      }\n    }\n    ... on GoalView {\n      objective\n      phase\n      roundsStarted\n    }\n    ... on PlanView {\n      active\n      pending\n    }\n    ... on SessionStatsView {\n      turns\n      steps\n      llmMs\n      toolMs\n      ttftMs\n      ttftSteps\n      decodeMs\n      decodeTokens\n    }\n    ... on TokenUsageView {\n      uncachedInputTokens\n      outputTokens\n      cacheReadTokens\n      cacheWriteTokens\n    }\n    ... on ContextPressureView {\n      pressureTokens\n      contextWindow\n    }\n    ... on CustomView {\n      value\n    }\n  }\n": types.ViewFragmentDoc,
    "\n  fragment Frame on ProjectionFrame {\n    __typename\n    ... on ProjectionSnapshot {\n      views {\n        ...View\n      }\n    }\n    ... on ProjectionChange {\n      view {\n        ...View\n      }\n    }\n  }\n": types.FrameFragmentDoc,
    "\n  subscription Projections($id: ID!, $keys: [String!]) {\n    projections(sessionId: $id, keys: $keys) {\n      ...Frame\n    }\n  }\n": types.ProjectionsDocument,
    "\n  fragment SearchHit on EventSearchHit {\n    sessionId\n    seq\n    type\n    time\n    surface\n    snippet\n    highlights {\n      start\n      end\n    }\n  }\n": types.SearchHitFragmentDoc,
    "\n  query SearchSessions($query: String!, $first: Int!) {\n    searchSessions(query: $query, first: $first) {\n      nodes {\n        session {\n          ...SessionRow\n        }\n        bestMatch {\n          ...SearchHit\n        }\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n": types.SearchSessionsDocument,
    "\n  query SearchEvents($sessionId: ID!, $query: String!) {\n    searchEvents(sessionId: $sessionId, query: $query, first: 20) {\n      nodes {\n        ...SearchHit\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n": types.SearchEventsDocument,
    "\n  query EventPayload($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      event(seq: $seq) {\n        target {\n          id\n          data\n        }\n      }\n    }\n  }\n": types.EventPayloadDocument,
    "\n  query Trace($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacementChain\n        replacedEventSeqs\n        sourceEventSeqs\n        derivedEventSeqs\n      }\n    }\n  }\n": types.TraceDocument,
    "\n  query Session($id: ID!) {\n    session(id: $id) {\n      ...SessionRow\n    }\n  }\n": types.SessionDocument,
    "\n  fragment TranscriptEvent on SessionEvent {\n    __typename\n    id\n    seq\n    type\n    time\n    surface\n    replacedBy\n    surfaceOp {\n      op\n      start\n      end\n    }\n    ... on UserMessageEvent {\n      text\n      sourceKind\n    }\n    ... on AssistantMessageEvent {\n      model\n      interrupted\n      content {\n        type\n        text\n        data\n      }\n    }\n    ... on ToolCallEvent {\n      name\n      arguments\n    }\n    ... on ToolResultEvent {\n      text\n      isError\n    }\n    ... on TodoWriteEvent {\n      todos {\n        content\n        status\n      }\n    }\n    ... on TitleEvent {\n      title\n    }\n    ... on TurnEndEvent {\n      turn\n      reason\n      error\n    }\n    ... on GenericEvent {\n      data\n    }\n  }\n": types.TranscriptEventFragmentDoc,
    "\n  query SurfacePage($id: ID!, $last: Int!, $before: Cursor) {\n    session(id: $id) {\n      id\n      surface {\n        capturedThroughSeq\n        events(last: $last, before: $before) {\n          nodes {\n            ...TranscriptEvent\n          }\n          pageInfo {\n            hasPreviousPage\n            startCursor\n          }\n        }\n      }\n    }\n  }\n": types.SurfacePageDocument,
    "\n  query LogPage($id: ID!, $range: SeqRange!, $first: Int, $last: Int) {\n    session(id: $id) {\n      id\n      lastSeq\n      events(filters: [{ seq: $range }], first: $first, last: $last) {\n        nodes {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n": types.LogPageDocument,
    "\n  query LogWindow($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      lastSeq\n      event(seq: $seq, before: 30, after: 30) {\n        startSeq\n        endSeq\n        events {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n": types.LogWindowDocument,
    "\n  query Removed($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacedEventSeqs\n      }\n    }\n  }\n": types.RemovedDocument,
    "\n  subscription LiveTail($id: ID!, $afterSeq: Int!) {\n    sessionEvents(sessionId: $id, afterSeq: $afterSeq) {\n      ...TranscriptEvent\n    }\n  }\n": types.LiveTailDocument,
    "\n  query ServerFacts {\n    server {\n      version\n      sessions\n      events\n    }\n  }\n": types.ServerFactsDocument,
    "\n  fragment SessionRow on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      cwd\n      createdAt\n      origin\n      parentSession\n      source {\n        kind\n      }\n    }\n  }\n": types.SessionRowFragmentDoc,
    "\n  query Sessions($filters: [SessionFilter!], $first: Int!, $after: Cursor) {\n    sessions(filters: $filters, first: $first, after: $after) {\n      nodes {\n        ...SessionRow\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n": types.SessionsDocument,
    "\n  query SessionsNow($filters: [SessionFilter!], $first: Int!) {\n    now: sessions(filters: $filters, first: $first) {\n      nodes {\n        ...SessionRow\n      }\n    }\n  }\n": types.SessionsNowDocument,
    "\n  subscription CorpusChanges($after: Cursor) {\n    corpus(after: $after) {\n      cursor\n      kind\n      sessionId\n    }\n  }\n": types.CorpusChangesDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 *
 *
 * @example
 * ```ts
 * const query = graphql(`query GetUser($id: ID!) { user(id: $id) { name } }`);
 * ```
 *
 * The query argument is unknown!
 * Please regenerate the types.
 */
export function graphql(source: string): unknown;

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Candidates($sessionId: ID!, $query: String!) {\n    referenceCandidates(sessionId: $sessionId, query: $query, limit: 8) {\n      sessionId\n      label\n      cwd\n      sameCwd\n      mention\n    }\n  }\n"): (typeof documents)["\n  query Candidates($sessionId: ID!, $query: String!) {\n    referenceCandidates(sessionId: $sessionId, query: $query, limit: 8) {\n      sessionId\n      label\n      cwd\n      sameCwd\n      mention\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PostMessage($input: PostMessageInput!) {\n    postMessage(input: $input) {\n      session {\n        ...SessionRow\n      }\n      message {\n        id\n        seq\n      }\n    }\n  }\n"): (typeof documents)["\n  mutation PostMessage($input: PostMessageInput!) {\n    postMessage(input: $input) {\n      session {\n        ...SessionRow\n      }\n      message {\n        id\n        seq\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation Resume($id: ID!) {\n    resumeSession(id: $id) {\n      session {\n        ...SessionRow\n      }\n    }\n  }\n"): (typeof documents)["\n  mutation Resume($id: ID!) {\n    resumeSession(id: $id) {\n      session {\n        ...SessionRow\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Prepare($sessionId: ID!, $text: String!) {\n    prepareMessage(sessionId: $sessionId, text: $text) {\n      text\n      additionalContext {\n        content\n        bytes\n        references {\n          sessionId\n          label\n          capturedThroughSeq\n          retainedMessages\n          originalMessages\n          omittedMessages\n          truncated\n        }\n      }\n    }\n  }\n"): (typeof documents)["\n  query Prepare($sessionId: ID!, $text: String!) {\n    prepareMessage(sessionId: $sessionId, text: $text) {\n      text\n      additionalContext {\n        content\n        bytes\n        references {\n          sessionId\n          label\n          capturedThroughSeq\n          retainedMessages\n          originalMessages\n          omittedMessages\n          truncated\n        }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment LineageSession on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      createdAt\n      origin\n    }\n  }\n"): (typeof documents)["\n  fragment LineageSession on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      createdAt\n      origin\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment Citations on SessionRecord {\n    references(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n        target {\n          ...LineageSession\n        }\n      }\n    }\n    referencedBy(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n      }\n    }\n  }\n"): (typeof documents)["\n  fragment Citations on SessionRecord {\n    references(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n        target {\n          ...LineageSession\n        }\n      }\n    }\n    referencedBy(first: 50) {\n      nodes {\n        sessionId\n        seq\n        targetId\n        label\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Lineage($id: ID!, $after: Cursor) {\n    session(id: $id) {\n      ...LineageSession\n      ...Citations\n      lineage {\n        __typename\n        complete\n        ... on PartialLineage {\n          unresolvedParentId\n        }\n        ancestors {\n          ...LineageSession\n        }\n        descendants(first: 2000, after: $after) {\n          totalCount\n          nodes {\n            parentId\n            depth\n            session {\n              ...LineageSession\n            }\n          }\n          pageInfo {\n            hasNextPage\n            endCursor\n          }\n        }\n      }\n    }\n  }\n"): (typeof documents)["\n  query Lineage($id: ID!, $after: Cursor) {\n    session(id: $id) {\n      ...LineageSession\n      ...Citations\n      lineage {\n        __typename\n        complete\n        ... on PartialLineage {\n          unresolvedParentId\n        }\n        ancestors {\n          ...LineageSession\n        }\n        descendants(first: 2000, after: $after) {\n          totalCount\n          nodes {\n            parentId\n            depth\n            session {\n              ...LineageSession\n            }\n          }\n          pageInfo {\n            hasNextPage\n            endCursor\n          }\n        }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query SessionsByIds($ids: [ID!]!) {\n    observeSessions(ids: $ids) {\n      __typename\n      ...LineageSession\n    }\n  }\n"): (typeof documents)["\n  query SessionsByIds($ids: [ID!]!) {\n    observeSessions(ids: $ids) {\n      __typename\n      ...LineageSession\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment View on ProjectionView {\n    __typename\n    key\n    seq\n    ... on TodosView {\n      todos {\n        content\n        status\n      }\n    }\n    ... on GoalView {\n      objective\n      phase\n      roundsStarted\n    }\n    ... on PlanView {\n      active\n      pending\n    }\n    ... on SessionStatsView {\n      turns\n      steps\n      llmMs\n      toolMs\n      ttftMs\n      ttftSteps\n      decodeMs\n      decodeTokens\n    }\n    ... on TokenUsageView {\n      uncachedInputTokens\n      outputTokens\n      cacheReadTokens\n      cacheWriteTokens\n    }\n    ... on ContextPressureView {\n      pressureTokens\n      contextWindow\n    }\n    ... on CustomView {\n      value\n    }\n  }\n"): (typeof documents)["\n  fragment View on ProjectionView {\n    __typename\n    key\n    seq\n    ... on TodosView {\n      todos {\n        content\n        status\n      }\n    }\n    ... on GoalView {\n      objective\n      phase\n      roundsStarted\n    }\n    ... on PlanView {\n      active\n      pending\n    }\n    ... on SessionStatsView {\n      turns\n      steps\n      llmMs\n      toolMs\n      ttftMs\n      ttftSteps\n      decodeMs\n      decodeTokens\n    }\n    ... on TokenUsageView {\n      uncachedInputTokens\n      outputTokens\n      cacheReadTokens\n      cacheWriteTokens\n    }\n    ... on ContextPressureView {\n      pressureTokens\n      contextWindow\n    }\n    ... on CustomView {\n      value\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment Frame on ProjectionFrame {\n    __typename\n    ... on ProjectionSnapshot {\n      views {\n        ...View\n      }\n    }\n    ... on ProjectionChange {\n      view {\n        ...View\n      }\n    }\n  }\n"): (typeof documents)["\n  fragment Frame on ProjectionFrame {\n    __typename\n    ... on ProjectionSnapshot {\n      views {\n        ...View\n      }\n    }\n    ... on ProjectionChange {\n      view {\n        ...View\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription Projections($id: ID!, $keys: [String!]) {\n    projections(sessionId: $id, keys: $keys) {\n      ...Frame\n    }\n  }\n"): (typeof documents)["\n  subscription Projections($id: ID!, $keys: [String!]) {\n    projections(sessionId: $id, keys: $keys) {\n      ...Frame\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment SearchHit on EventSearchHit {\n    sessionId\n    seq\n    type\n    time\n    surface\n    snippet\n    highlights {\n      start\n      end\n    }\n  }\n"): (typeof documents)["\n  fragment SearchHit on EventSearchHit {\n    sessionId\n    seq\n    type\n    time\n    surface\n    snippet\n    highlights {\n      start\n      end\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query SearchSessions($query: String!, $first: Int!) {\n    searchSessions(query: $query, first: $first) {\n      nodes {\n        session {\n          ...SessionRow\n        }\n        bestMatch {\n          ...SearchHit\n        }\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n"): (typeof documents)["\n  query SearchSessions($query: String!, $first: Int!) {\n    searchSessions(query: $query, first: $first) {\n      nodes {\n        session {\n          ...SessionRow\n        }\n        bestMatch {\n          ...SearchHit\n        }\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query SearchEvents($sessionId: ID!, $query: String!) {\n    searchEvents(sessionId: $sessionId, query: $query, first: 20) {\n      nodes {\n        ...SearchHit\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n"): (typeof documents)["\n  query SearchEvents($sessionId: ID!, $query: String!) {\n    searchEvents(sessionId: $sessionId, query: $query, first: 20) {\n      nodes {\n        ...SearchHit\n      }\n      pageInfo {\n        hasNextPage\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query EventPayload($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      event(seq: $seq) {\n        target {\n          id\n          data\n        }\n      }\n    }\n  }\n"): (typeof documents)["\n  query EventPayload($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      event(seq: $seq) {\n        target {\n          id\n          data\n        }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Trace($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacementChain\n        replacedEventSeqs\n        sourceEventSeqs\n        derivedEventSeqs\n      }\n    }\n  }\n"): (typeof documents)["\n  query Trace($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacementChain\n        replacedEventSeqs\n        sourceEventSeqs\n        derivedEventSeqs\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Session($id: ID!) {\n    session(id: $id) {\n      ...SessionRow\n    }\n  }\n"): (typeof documents)["\n  query Session($id: ID!) {\n    session(id: $id) {\n      ...SessionRow\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment TranscriptEvent on SessionEvent {\n    __typename\n    id\n    seq\n    type\n    time\n    surface\n    replacedBy\n    surfaceOp {\n      op\n      start\n      end\n    }\n    ... on UserMessageEvent {\n      text\n      sourceKind\n    }\n    ... on AssistantMessageEvent {\n      model\n      interrupted\n      content {\n        type\n        text\n        data\n      }\n    }\n    ... on ToolCallEvent {\n      name\n      arguments\n    }\n    ... on ToolResultEvent {\n      text\n      isError\n    }\n    ... on TodoWriteEvent {\n      todos {\n        content\n        status\n      }\n    }\n    ... on TitleEvent {\n      title\n    }\n    ... on TurnEndEvent {\n      turn\n      reason\n      error\n    }\n    ... on GenericEvent {\n      data\n    }\n  }\n"): (typeof documents)["\n  fragment TranscriptEvent on SessionEvent {\n    __typename\n    id\n    seq\n    type\n    time\n    surface\n    replacedBy\n    surfaceOp {\n      op\n      start\n      end\n    }\n    ... on UserMessageEvent {\n      text\n      sourceKind\n    }\n    ... on AssistantMessageEvent {\n      model\n      interrupted\n      content {\n        type\n        text\n        data\n      }\n    }\n    ... on ToolCallEvent {\n      name\n      arguments\n    }\n    ... on ToolResultEvent {\n      text\n      isError\n    }\n    ... on TodoWriteEvent {\n      todos {\n        content\n        status\n      }\n    }\n    ... on TitleEvent {\n      title\n    }\n    ... on TurnEndEvent {\n      turn\n      reason\n      error\n    }\n    ... on GenericEvent {\n      data\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query SurfacePage($id: ID!, $last: Int!, $before: Cursor) {\n    session(id: $id) {\n      id\n      surface {\n        capturedThroughSeq\n        events(last: $last, before: $before) {\n          nodes {\n            ...TranscriptEvent\n          }\n          pageInfo {\n            hasPreviousPage\n            startCursor\n          }\n        }\n      }\n    }\n  }\n"): (typeof documents)["\n  query SurfacePage($id: ID!, $last: Int!, $before: Cursor) {\n    session(id: $id) {\n      id\n      surface {\n        capturedThroughSeq\n        events(last: $last, before: $before) {\n          nodes {\n            ...TranscriptEvent\n          }\n          pageInfo {\n            hasPreviousPage\n            startCursor\n          }\n        }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query LogPage($id: ID!, $range: SeqRange!, $first: Int, $last: Int) {\n    session(id: $id) {\n      id\n      lastSeq\n      events(filters: [{ seq: $range }], first: $first, last: $last) {\n        nodes {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n"): (typeof documents)["\n  query LogPage($id: ID!, $range: SeqRange!, $first: Int, $last: Int) {\n    session(id: $id) {\n      id\n      lastSeq\n      events(filters: [{ seq: $range }], first: $first, last: $last) {\n        nodes {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query LogWindow($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      lastSeq\n      event(seq: $seq, before: 30, after: 30) {\n        startSeq\n        endSeq\n        events {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n"): (typeof documents)["\n  query LogWindow($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      lastSeq\n      event(seq: $seq, before: 30, after: 30) {\n        startSeq\n        endSeq\n        events {\n          ...TranscriptEvent\n        }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Removed($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacedEventSeqs\n      }\n    }\n  }\n"): (typeof documents)["\n  query Removed($id: ID!, $seq: Int!) {\n    session(id: $id) {\n      id\n      trace(seq: $seq) {\n        replacedEventSeqs\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription LiveTail($id: ID!, $afterSeq: Int!) {\n    sessionEvents(sessionId: $id, afterSeq: $afterSeq) {\n      ...TranscriptEvent\n    }\n  }\n"): (typeof documents)["\n  subscription LiveTail($id: ID!, $afterSeq: Int!) {\n    sessionEvents(sessionId: $id, afterSeq: $afterSeq) {\n      ...TranscriptEvent\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query ServerFacts {\n    server {\n      version\n      sessions\n      events\n    }\n  }\n"): (typeof documents)["\n  query ServerFacts {\n    server {\n      version\n      sessions\n      events\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment SessionRow on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      cwd\n      createdAt\n      origin\n      parentSession\n      source {\n        kind\n      }\n    }\n  }\n"): (typeof documents)["\n  fragment SessionRow on SessionRecord {\n    id\n    title\n    live\n    persisted\n    lastSeq\n    header {\n      cwd\n      createdAt\n      origin\n      parentSession\n      source {\n        kind\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Sessions($filters: [SessionFilter!], $first: Int!, $after: Cursor) {\n    sessions(filters: $filters, first: $first, after: $after) {\n      nodes {\n        ...SessionRow\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n"): (typeof documents)["\n  query Sessions($filters: [SessionFilter!], $first: Int!, $after: Cursor) {\n    sessions(filters: $filters, first: $first, after: $after) {\n      nodes {\n        ...SessionRow\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query SessionsNow($filters: [SessionFilter!], $first: Int!) {\n    now: sessions(filters: $filters, first: $first) {\n      nodes {\n        ...SessionRow\n      }\n    }\n  }\n"): (typeof documents)["\n  query SessionsNow($filters: [SessionFilter!], $first: Int!) {\n    now: sessions(filters: $filters, first: $first) {\n      nodes {\n        ...SessionRow\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription CorpusChanges($after: Cursor) {\n    corpus(after: $after) {\n      cursor\n      kind\n      sessionId\n    }\n  }\n"): (typeof documents)["\n  subscription CorpusChanges($after: Cursor) {\n    corpus(after: $after) {\n      cursor\n      kind\n      sessionId\n    }\n  }\n"];

export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}

export type DocumentType<TDocumentNode extends DocumentNode<any, any>> = TDocumentNode extends DocumentNode<  infer TType,  any>  ? TType  : never;