import { type RefObject, useEffect, useRef } from "react";

/**
 * Calls `reach` when the element comes near the visible part of its scroll container, which is how
 * a list loads its next page. `reach` is called again after every render in which it is still near.
 */
export function useReached<E extends HTMLElement>(reach: (() => void) | null): RefObject<E | null> {
  const element = useRef<E>(null);
  useEffect(() => {
    if (!element.current || !reach) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) reach();
      },
      { root: element.current.closest(".scroll"), rootMargin: "600px" },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [reach]);
  return element;
}
