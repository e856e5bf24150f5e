import { useState } from "react";
import { keepToken, wasRefused } from "../graphql/token";

/** Asks for a token, when the server has said that it needs one. */
export function TokenForm() {
  const [typed, setTyped] = useState("");
  return (
    <form
      className="page token-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim()) keepToken(typed);
      }}
    >
      <h1>This server needs a token</h1>
      {wasRefused() && <p role="alert">It does not take the token that this tab has.</p>}
      <p>
        On its machine, <code>sessiongraph token show</code> prints it. It is kept until this tab is
        closed, in this tab alone.
      </p>
      <label htmlFor="token">Token, or the whole header</label>
      <input
        id="token"
        type="password"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <button type="submit">Continue</button>
    </form>
  );
}
