import { rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { api, message, open } from "./browser";
import { makeDataDirectory, startServer } from "./server";

test("after a restart of the server everything goes on, without a gap or a repeat", async () => {
  const data = makeDataDirectory();
  let server = await startServer(data);
  onTestFinished(async () => {
    await server.stop();
    rmSync(data, { recursive: true });
  });
  const { url } = server;
  const send = (text: string) =>
    api(
      `mutation ($input: AppendEventsInput!) { appendEvents(input: $input) { events { seq } } }`,
      { input: { sessionId: "s", events: [message(text)] } },
      server,
    );
  await api(`mutation { createSession(input: { id: "s" }) { session { id } } }`, {}, server);
  await send("one");
  const page = await open("/app/sessions/s", { server, mayLoseServer: true });
  const list = await page.context().newPage();
  list.setDefaultTimeout(8_000);
  await list.goto(`${url}/app/`);
  await page.getByText("one", { exact: true }).waitFor();
  await send("two");
  await page.getByText("two", { exact: true }).waitFor();
  await list.getByText("2 events", { exact: true }).waitFor();

  await server.stop();
  await page.getByText("reconnecting").waitFor();
  server = await startServer(data, Number(new URL(url).port));
  await api(`mutation { resumeSession(id: "s") { session { id } } }`, {}, server);
  await send("three");

  await page.getByText("three", { exact: true }).waitFor();
  expect(await page.locator(".event-body").allTextContents()).toEqual(["one", "two", "three"]);
  await list.getByText("3 events", { exact: true }).waitFor();
  await api(`mutation { createSession(input: { id: "after" }) { session { id } } }`, {}, server);
  await list.getByText("after", { exact: true }).waitFor();
});
