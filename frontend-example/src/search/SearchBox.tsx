import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { useQueryParameters } from "../ui/addresses";

/** The search field of the bar: every keystroke is a search. `/` focuses it from anywhere. */
export function SearchBox() {
  const [location, navigate] = useLocation();
  const parameters = useQueryParameters();
  const field = useRef<HTMLInputElement>(null);
  const asked = location === "/search" ? (parameters.get("q") ?? "") : "";

  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const typing =
        event.target instanceof HTMLElement &&
        event.target.matches("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || typing) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);

  return (
    <search className="search-box">
      <input
        ref={field}
        type="search"
        aria-label="Search in all sessions"
        placeholder="Search in all sessions"
        value={asked}
        onChange={(event) => {
          const query = new URLSearchParams({ q: event.target.value });
          // The first keystroke is a step in the history; the others refine it.
          navigate(`/search?${query}`, { replace: location === "/search" });
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </search>
  );
}
