// The token form: asked for when the server wants a token, and again when it is worth nothing any more.
import { expect, inject, test } from "vitest";
import { createSession, open, violations } from "./browser";
import { runCommand } from "./server";

test("the app asks for a token, takes the pasted header, and follows with it", async () => {
  const { token } = inject("server");
  const page = await open("/app/", { token: null });
  await page.getByRole("heading", { name: "This server needs a token" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByLabel("Token").fill(`Authorization: Bearer ${token}`);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("Release 2.4.0").waitFor();
  await page.getByText("live", { exact: true }).first().waitFor();
  await createSession("made-with-a-token");
  await page.getByText("made-with-a-token").waitFor();
  expect(page.url()).not.toContain(token);
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(token);
});

test("a wrong token is not taken, and the form says so", async () => {
  const page = await open("/app/", { token: null });
  await page.getByLabel("Token").fill("sgt_wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token").fill(inject("server").token);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("Release 2.4.0").waitFor();
});

test("when its token is revoked, a page that follows asks for another one", async () => {
  const at = ["--json", "--data-dir", inject("server").data];
  const made = runCommand("token", "create", "--scope", "read", ...at);
  const { id, token } = JSON.parse(made) as { id: string; token: string };
  const page = await open("/app/", { token });
  await page.getByText("live", { exact: true }).first().waitFor();
  runCommand("token", "revoke", id, ...at);
  await page.getByRole("heading", { name: "This server needs a token" }).waitFor();
});
