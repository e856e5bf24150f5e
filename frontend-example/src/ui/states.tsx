// What a screen shows when it has nothing to show yet, nothing at all, or nothing to be proud of.
import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { errorCode, errorText } from "../graphql/errors";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <p className="state-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Failed({ error, retry }: { error: CombinedError; retry?: () => void }) {
  const code = errorCode(error);
  return (
    <div className="state state-failed" role="alert">
      <p className="state-title">{errorText(error)}</p>
      {code && <p className="mono">{code}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Grey lines where content will be; read aloud as one word. */
export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="loading-line" />
      ))}
    </div>
  );
}
