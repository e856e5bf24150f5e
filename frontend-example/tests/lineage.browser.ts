import { expect, test } from "vitest";
import { createSession, open } from "./browser";

test("a family is drawn from its root, and the keyboard goes from session to session", async () => {
  const page = await open("/app/sessions/harbor-retry-fork-a/lineage");
  await page.getByText("1 ancestor", { exact: true }).waitFor();
  const cards = page.locator(".card");
  await expect.poll(() => cards.count()).toBe(4);
  await page.locator(".card-target").getByText("Repair A: idempotency key").waitFor();
  await page.locator(".edge-citation").first().waitFor({ state: "attached" });
  await page.getByText("审查幂等键:并发与重启").waitFor();

  const parent = page.getByRole("link", {
    name: "Why does test_capture_retry_after_timeout fail?",
  });
  await parent.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Transcript" }).waitFor();
  expect(page.url()).toMatch(/sessions\/harbor-retry$/);
});

test("a line whose beginning is not in the corpus is shown as such", async () => {
  await createSession("orphan", { parentSession: "gone-long-ago" });
  const page = await open("/app/sessions/orphan/lineage");
  await page.getByRole("note").getByText("gone-long-ago").waitFor();
  await page.locator(".card-unknown").getByText("gone-long-ago").waitFor();
});

test("of a large family only what is in view is in the document", async () => {
  await createSession("matriarch");
  const children = Array.from({ length: 400 }, (_, n) => `child-${n}`);
  for (let from = 0; from < children.length; from += 100) {
    const some = children.slice(from, from + 100);
    await Promise.all(
      some.map((id) =>
        createSession(id, { parentSession: "matriarch", createdAt: 900_000_000_000 }),
      ),
    );
  }
  const page = await open("/app/sessions/matriarch/lineage");
  await page.getByText("400 descendants").waitFor();
  await page.locator(".card").first().waitFor();
  expect(await page.locator(".card").count()).toBeLessThan(60);
});
