import { expect, test } from "vitest";
import { bareToken } from "./token";

test.each(["sgt_a-b", "  sgt_a-b\n", "Bearer sgt_a-b", "Authorization: Bearer sgt_a-b"])(
  "of %j the token is taken",
  (typed) => {
    expect(bareToken(typed)).toBe("sgt_a-b");
  },
);
