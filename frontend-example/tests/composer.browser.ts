import { expect, test } from "vitest";
import { createSession, open } from "./browser";

test("a message mentions a session, is previewed exactly, and is sent", async () => {
  await createSession("writer", { cwd: "/home/mei/harbor" });
  const page = await open("/app/sessions/writer");
  const field = page.getByRole("combobox", { name: "Message to this session" });
  await field.pressSequentially("As in @circuit");
  await page.getByRole("option", { name: "Repair B: a circuit breaker" }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type("please"); // at once: no letter may get in front of another
  expect(await field.inputValue()).toMatch(
    /^As in @\[Repair B: a circuit breaker\]\(dsh-session:\S+\) please$/,
  );

  await page.getByRole("button", { name: "Preview" }).click();
  const preview = page.getByRole("region", { name: "Preview" });
  await preview.getByText("As in @Repair B: a circuit breaker please").waitFor();
  await preview.getByText(/[\d,]+ bytes of context, marked untrusted/).waitFor();
  const injected = await preview.getByLabel("Injected context").innerText();
  expect(injected).toContain("harbor-retry-fork-b");

  await field.press("Control+Enter");
  const transcript = page.getByRole("region", { name: "Transcript" });
  await transcript.getByText("As in @Repair B: a circuit breaker please").waitFor();
  await transcript.getByText("session-reference").first().waitFor();
  expect(await field.inputValue()).toBe("");
});

test("the arrow keys choose a candidate, and Escape leaves the words alone", async () => {
  await createSession("chooser", { cwd: "/home/mei/harbor" });
  const page = await open("/app/sessions/chooser");
  const field = page.getByRole("combobox", { name: "Message to this session" });
  await field.pressSequentially("@repair");
  const options = page.getByRole("option");
  await options.first().waitFor();
  expect(await options.first().getAttribute("aria-selected")).toBe("true");
  await page.keyboard.press("ArrowDown");
  expect(await options.nth(1).getAttribute("aria-selected")).toBe("true");
  await page.keyboard.press("Escape");
  await options.first().waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("@repair");
});

test("a closed session is resumed where one writes", async () => {
  const page = await open("/app/sessions/harbor-retry-fork-b");
  await page.getByRole("button", { name: "Resume it" }).click();
  const field = page.getByRole("combobox", { name: "Message to this session" });
  await field.fill("One more question.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("region", { name: "Transcript" }).getByText("One more question.").waitFor();
});

test("what the server refuses is said, and the words stay", async () => {
  await createSession("selfish");
  const page = await open("/app/sessions/selfish");
  const field = page.getByRole("combobox", { name: "Message to this session" });
  const self = "@[me](dsh-session:InNlbGZpc2gi)";
  await field.fill(self);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("alert").waitFor();
  expect(await field.inputValue()).toBe(self);
});
