import { type ReactNode } from "react";
import { useSubscription } from "urql";
import { graphql } from "../gql";
import { Failed, Loading } from "../ui/states";
import { type Views, viewOf, withFrame } from "./views";

export const View = graphql(`
  fragment View on ProjectionView {
    __typename
    key
    seq
    ... on TodosView {
      todos {
        content
        status
      }
    }
    ... on GoalView {
      objective
      phase
      roundsStarted
    }
    ... on PlanView {
      active
      pending
    }
    ... on SessionStatsView {
      turns
      steps
      llmMs
      toolMs
      ttftMs
      ttftSteps
      decodeMs
      decodeTokens
    }
    ... on TokenUsageView {
      uncachedInputTokens
      outputTokens
      cacheReadTokens
      cacheWriteTokens
    }
    ... on ContextPressureView {
      pressureTokens
      contextWindow
    }
    ... on CustomView {
      value
    }
  }
`);

export const Frame = graphql(`
  fragment Frame on ProjectionFrame {
    __typename
    ... on ProjectionSnapshot {
      views {
        ...View
      }
    }
    ... on ProjectionChange {
      view {
        ...View
      }
    }
  }
`);

const Projections = graphql(`
  subscription Projections($id: ID!, $keys: [String!]) {
    projections(sessionId: $id, keys: $keys) {
      ...Frame
    }
  }
`);

const KEYS = ["todos", "goal", "plan", "sessionStats", "tokenUsage", "contextPressure"];

interface PanelProps {
  id: string;
  /** On narrow screens the panel is a drawer. */
  open: boolean;
  close: () => void;
}

/** What the server makes of the log: values, not events. One subscription brings all of them. */
export function ProjectionsPanel({ id, open, close }: PanelProps) {
  const [{ data: views, error }] = useSubscription(
    { query: Projections, variables: { id, keys: KEYS } },
    (before: Views | undefined, { projections }) => withFrame(before ?? new Map(), projections),
  );
  return (
    <aside
      id="projections"
      className={open ? "panel panel-open scroll" : "panel scroll"}
      aria-label="Values"
      tabIndex={0}
    >
      <button type="button" className="panel-close" onClick={close}>
        Close
      </button>
      <h2>Values</h2>
      {error && !views ? (
        <Failed error={error} />
      ) : !views ? (
        <Loading />
      ) : (
        <Sections views={views} />
      )}
    </aside>
  );
}

function Sections({ views }: { views: Views }) {
  const todos = viewOf(views, "TodosView")?.todos;
  const goal = viewOf(views, "GoalView");
  const plan = viewOf(views, "PlanView");
  const stats = viewOf(views, "SessionStatsView");
  const tokens = viewOf(views, "TokenUsageView");
  const context = viewOf(views, "ContextPressureView");
  return (
    <>
      <Section title="To do" empty={!todos?.length && "No list was written."}>
        <ul className="todos">
          {todos?.map((todo, index) => (
            <li key={index} className={`todo todo-${todo.status}`}>
              {todo.content} <span className="quiet">{todo.status.replace("_", " ")}</span>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Goal" empty={!goal?.objective && "None was set."}>
        <p>{goal?.objective}</p>
        <p className="quiet">
          {goal?.phase}, {goal?.roundsStarted ?? 0} rounds
        </p>
      </Section>
      <Section title="Plan">
        <p>
          {plan?.active ? "Only plans" : "Acts"}
          {plan?.pending && <span className="quiet"> · about to change</span>}
        </p>
      </Section>
      {context?.pressureTokens != null && context.contextWindow != null && (
        <Section title="Context">
          <meter
            aria-label="Context in use"
            min={0}
            max={context.contextWindow}
            high={context.contextWindow * 0.8}
            value={context.pressureTokens}
          />
          <p className="quiet">
            {count(context.pressureTokens)} of {count(context.contextWindow)} tokens
          </p>
        </Section>
      )}
      {tokens && (
        <Section title="Tokens">
          <Figures
            of={{
              "new input": count(tokens.uncachedInputTokens),
              "cached input": count(tokens.cacheReadTokens),
              output: count(tokens.outputTokens),
            }}
          />
        </Section>
      )}
      {stats && (
        <Section title="Work">
          <Figures
            of={{
              turns: count(stats.turns),
              steps: count(stats.steps),
              model: seconds(stats.llmMs),
              tools: seconds(stats.toolMs),
              "first token": stats.ttftSteps > 0 ? seconds(stats.ttftMs / stats.ttftSteps) : "–",
              speed:
                stats.decodeMs > 0
                  ? `${Math.round((stats.decodeTokens * 1000) / stats.decodeMs)} tokens/s`
                  : "–",
            }}
          />
        </Section>
      )}
    </>
  );
}

interface SectionProps {
  title: string;
  /** What to say instead of the content. */
  empty?: string | false | undefined;
  children: ReactNode;
}

function Section({ title, empty, children }: SectionProps) {
  return (
    <section className="panel-section">
      <h3>{title}</h3>
      {empty ? <p className="quiet">{empty}</p> : children}
    </section>
  );
}

function Figures({ of }: { of: Record<string, string> }) {
  return (
    <dl className="figures">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const count = (value: number): string => value.toLocaleString();
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
