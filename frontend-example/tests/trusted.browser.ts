// The whole app on a server that runs trusted documents only, with the file that the command prints. A
// document that is not in it would be refused with 400, which the browser's console tells.
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { api, open } from "./browser";
import { makeDataDirectory, type RunningServer, runCommand, startServer } from "./server";

const SAMPLES = resolve(import.meta.dirname, "../../server/samples/sessions");

let server: RunningServer;

beforeAll(async () => {
  const data = makeDataDirectory();
  runCommand("import", "--quiet", SAMPLES, "--data-dir", data);
  const documents = join(data, "documents.json");
  writeFileSync(documents, runCommand("documents"));
  server = await startServer(data, 0, {
    SESSIONGRAPH_DOCUMENTS: "trusted",
    SESSIONGRAPH_TRUSTED_DOCUMENTS: documents,
  });
});

afterAll(async () => {
  await server.stop();
  rmSync(server.data, { recursive: true });
});

test("it runs nothing else", async () => {
  await expect(api("{ server { version } }", {}, server)).rejects.toThrow("trusted documents");
});

test("sessions are listed, found, and searched in", async () => {
  const page = await open("/app/", { server });
  await page.getByText("Release 2.4.0").waitFor();
  await page.goto(`${server.url}/app/search?q=idempotency key`);
  await page.locator("mark").first().waitFor();
});

test("a transcript is read, its replacements and its family are shown", async () => {
  const page = await open("/app/sessions/harbor-ledger-migration?seq=59", { server });
  const event = page.locator("#event-59");
  await event.getByRole("button", { name: "Show the replacements" }).click();
  await page.getByText("stands now").waitFor();
  await page.goto(`${server.url}/app/sessions/harbor-retry-fork-a/lineage`);
  await page.locator(".card-target").waitFor();
});

test("a session is resumed, written to with a mention, and followed", async () => {
  const page = await open("/app/sessions/harbor-retry-fork-b", { server });
  const onlooker = await open("/app/sessions/harbor-retry-fork-b", { server });
  await page.getByRole("button", { name: "Resume it" }).click();
  const field = page.getByRole("combobox", { name: "Message to this session" });
  await field.pressSequentially("As in @release");
  await page.getByRole("option").first().waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type("once more");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText(/[\d,]+ bytes of context, marked untrusted/).waitFor();
  await field.press("Control+Enter");
  for (const each of [page, onlooker]) {
    const transcript = each.getByRole("region", { name: "Transcript" });
    await transcript.getByText(/^As in @.* once more$/).waitFor();
  }
});
