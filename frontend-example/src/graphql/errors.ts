import type { CombinedError } from "urql";

/** The stable code of the first error, as docs/errors.md lists them; null for a lost connection. */
export function errorCode(error: CombinedError): string | null {
  const code = error.graphQLErrors[0]?.extensions["code"];
  return typeof code === "string" ? code : null;
}

/** What to tell a person. */
export function errorText(error: CombinedError): string {
  return error.networkError
    ? "The server cannot be reached."
    : (error.graphQLErrors[0]?.message ?? error.message);
}
