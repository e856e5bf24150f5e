import { expect, test } from "vitest";
import { formatFilters, NO_FILTERS, parseFilters, toSessionFilters } from "./filters";

test("filters survive the way through the address", () => {
  const filters = { ...NO_FILTERS, title: "a & b", cwd: "/home/mei/harbor", from: "2026-11-02" };
  expect(parseFilters(`?${formatFilters(filters)}`)).toEqual(filters);
});

test("an address with values that do not exist filters by nothing", () => {
  expect(toSessionFilters(parseFilters("?source=FAX&availability=maybe&from=soon"))).toEqual([]);
});

test("each filter is a predicate of its own, so that all must hold", () => {
  const asked = parseFilters("?source=DSH&availability=LIVE&title=retry&cwd=/x");
  expect(toSessionFilters(asked)).toEqual([
    { title: "retry" },
    { cwd: ["/x"] },
    { source: ["DSH"] },
    { availability: ["LIVE"] },
  ]);
});

test("a day is meant from its first to its last millisecond", () => {
  const [filter] = toSessionFilters(parseFilters("?from=2026-11-02&to=2026-11-02"));
  const { from, to } = filter?.createdAt ?? {};
  expect((to ?? 0) - (from ?? 0)).toBe(24 * 3600 * 1000 - 1);
});
