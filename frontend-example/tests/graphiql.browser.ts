import { expect, inject, test } from "vitest";
import { open } from "./browser";

test("GraphiQL runs a query and explains the schema", async () => {
  const page = await open("/");
  await page.getByRole("button", { name: /Execute query/ }).click();
  await expect.poll(() => page.locator(".result-window").innerText()).toContain('"lastSeq"');
  await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
  await page.getByRole("link", { name: "Query", exact: true }).click();
  await page.getByRole("link", { name: "sessions", exact: true }).waitFor();
});

test("a subscription delivers over the WebSocket", async () => {
  const page = await open("/");
  const protocols: string[] = [];
  page.on("websocket", (socket) => protocols.push(new URL(socket.url()).pathname));
  await page.getByRole("button", { name: "New tab" }).click();
  await page.locator(".graphiql-query-editor .CodeMirror").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(
    `subscription Follow { sessionEvents(sessionId: "harbor-oncall") { seq type } }`,
  );
  await page.getByRole("tab", { name: "Follow" }).waitFor();
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => page.locator(".result-window").innerText()).toContain('"sessionEvents"');
  expect(protocols).toEqual(["/graphql"]);
});

test("tabs are still there after a reload", async () => {
  const page = await open("/");
  await page.getByRole("button", { name: "New tab" }).click();
  await page.locator(".graphiql-query-editor .CodeMirror").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("query Kept { server { version } }");
  await page.getByRole("tab", { name: "Kept" }).waitFor();
  await expect
    .poll(() => page.evaluate(() => localStorage.getItem("graphiql:tabState") ?? ""))
    .toContain("Kept");
  await page.reload();
  await page.getByRole("tab", { name: "Kept" }).waitFor();
});

test("a token travels in a header, never in an address, and ends with the tab", async () => {
  const { token } = inject("server");
  const page = await open("/", { token: null });
  const addresses: string[] = [];
  const sent: (string | undefined)[] = [];
  page.on("request", (request) => {
    addresses.push(request.url());
    sent.push(request.headers()["authorization"]);
  });
  await page.getByRole("button", { name: /Execute query/ }).click();
  await expect.poll(() => page.locator(".result-window").innerText()).toContain("UNAUTHENTICATED");
  await page.getByRole("button", { name: "Show Token" }).click();
  await page.getByLabel("Sent as a bearer token").fill(`Authorization: Bearer ${token}`);
  await page.getByRole("button", { name: "Load the schema with it" }).click();
  await page.getByRole("button", { name: /Execute query/ }).click();
  await expect.poll(() => page.locator(".result-window").innerText()).toContain('"lastSeq"');
  expect(sent).toContain(`Bearer ${token}`);
  expect([...addresses, page.url()].join(" ")).not.toContain(token);
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(token);
});
