import { expect, test } from "vitest";
import { open } from "./browser";

test("typing searches, hits are grouped and highlighted, and one opens at its event", async () => {
  const page = await open("/app/");
  await page.getByText("Release 2.4.0").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("idempotency key", { delay: 15 });
  const group = page.getByRole("listitem").filter({ hasText: "Repair A: idempotency key" }).first();
  await group.waitFor();
  expect(page.url()).toContain("q=idempotency+key");
  expect((await page.locator("mark").first().innerText()).toLowerCase()).toBe("idempotency");

  await group.getByRole("button", { name: "All matches here" }).click();
  await expect.poll(() => group.locator(".hit").count()).toBeGreaterThan(1);
  await group.getByText("current", { exact: true }).first().waitFor();

  const hit = group.locator(".hit a").last();
  const seq = /#(\d+)/.exec(await hit.innerText())?.[1];
  await hit.click();
  const event = page.locator(`#event-${seq ?? "none"}`);
  await event.waitFor();
  expect(await event.getAttribute("aria-current")).toBe("true");
  await expect
    .poll(() => event.evaluate((element) => element.getBoundingClientRect().top))
    .toBeGreaterThan(100);
});

test("words of a language without spaces are found inside of sentences", async () => {
  const page = await open("/app/search?q=连接池");
  await page.getByText("连接池").first().waitFor();
  await page.locator("mark").first().waitFor();
});

test("what cannot be found is told kindly", async () => {
  const page = await open("/app/search");
  await page.getByText("Type to search.").waitFor();
  const field = page.getByRole("searchbox");
  await field.fill("xyzzy");
  await page.getByText("No event has all of these words.").waitFor();
  await field.fill("…");
  await page.getByText("Nothing in this could be found.").waitFor();
});
