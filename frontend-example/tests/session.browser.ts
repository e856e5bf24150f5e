import { expect, test } from "vitest";
import { api, append, createSession, message, open } from "./browser";

test("the transcript is what the model sees, and the switch shows the rest in its place", async () => {
  const page = await open("/app/sessions/harbor-ledger-migration");
  await page.getByText("A week has passed. Drop it.").waitFor();
  const shadowed = page.getByText("Plan a migration of orders.amount");
  expect(await shadowed.count()).toBe(0);
  expect(await page.getByText("turn/start").count()).toBe(0);

  await page.getByRole("switch").click();
  await page.getByText("turn/start").last().waitFor();
  await page.locator(".transcript").hover();
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, -4_000);
      return shadowed.count();
    })
    .toBe(1);
  await page.getByText("shadowed", { exact: true }).first().waitFor();
});

test("the replacements of an event are drawn, and each step can be gone to", async () => {
  const page = await open("/app/sessions/harbor-ledger-migration?seq=6");
  const event = page.locator("#event-6");
  await event.getByRole("button", { name: "Show the replacements" }).click();
  const chain = event.getByRole("list", { name: "Replacements of event 6" });
  await chain.waitFor();
  const steps = await chain.getByRole("listitem").allInnerTexts();
  expect(steps.map((step) => step.replace(/\s+/, " "))).toEqual([
    "#6",
    "#59",
    "#92",
    "#116 stands now",
  ]);
  await chain.getByRole("button", { name: "#116" }).click();
  await page.locator("#event-116").waitFor();
  expect(page.url()).toContain("seq=116");
});

test("an event's payload is shown on demand, exactly as it was logged", async () => {
  const page = await open("/app/sessions/harbor-release?seq=3");
  await page.getByRole("button", { name: "Event 3: details" }).click();
  await page.locator("#event-3 .payload").getByText('"role"').waitFor();
});

test("the tail is live, replacements take their places, and values follow", async () => {
  await createSession("tail");
  await append("tail", message("first"), message("second"));
  const page = await open("/app/sessions/tail");
  await page.getByText("second").waitFor();

  await append("tail", message("third"));
  await page.getByText("third").waitFor();
  const todos = [{ content: "Write the test", status: "in_progress" }];
  await append("tail", { type: "todo/write", data: { todos } });
  await page.getByRole("complementary").getByText("Write the test").waitFor();

  await append("tail", {
    ...message("first and second in short"),
    surfaceOp: { replace: { start: 0, end: 1 } },
    sourceEventSeqs: [0, 1],
  });
  await page.getByText("first and second in short").waitFor();
  const bodies = await page.locator(".event-body").allInnerTexts();
  expect(bodies).toEqual(["first and second in short", "third"]);

  await api(
    `mutation { renameSession(id: "tail", title: "Tail with a title") { session { id } } }`,
  );
  await page.reload();
  await page.getByRole("heading", { name: "Tail with a title" }).waitFor();
});

test("a long log is paged towards its beginning while one scrolls", async () => {
  await createSession("long");
  await append("long", ...Array.from({ length: 300 }, (_, n) => message(`message ${n}`)));
  const page = await open("/app/sessions/long");
  await page.getByText("message 299").waitFor();
  expect(await page.locator(".event").count()).toBeLessThan(200);
  await page.locator(".transcript").hover();
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, -6_000);
      return page.getByText("message 0", { exact: true }).count();
    })
    .toBe(1);
  const seqs = await page.locator(".event").evaluateAll((all) => all.map(({ id }) => id));
  expect(seqs).toEqual(Array.from({ length: 300 }, (_, n) => `event-${n}`));
});

test("an address without a session says so", async () => {
  const page = await open("/app/sessions/nowhere");
  await page.getByText("There is no such session.").waitFor();
});

test("an id may hold any character", async () => {
  const id = "a/b c%2F?#ü";
  await createSession(id);
  const page = await open(`/app/sessions/${encodeURIComponent(id)}`);
  await page.getByRole("heading", { name: id }).waitFor();
  await page.getByRole("link", { name: "Lineage", exact: true }).click();
  await page.getByRole("heading", { name: `Lineage of ${id}` }).waitFor();
});
