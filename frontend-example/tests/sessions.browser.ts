import { expect, test } from "vitest";
import { api, createSession, open } from "./browser";

test("the list is followed: sessions come in, change and go without a reload", async () => {
  const page = await open("/app/");
  const rows = page.getByRole("list", { name: "Sessions" }).getByRole("listitem");
  await page.getByText("Release 2.4.0").waitFor();
  await page.getByText("live", { exact: true }).first().waitFor();

  await createSession("newcomer");
  await page.getByText("newcomer").waitFor();
  expect(await rows.first().innerText()).toContain("newcomer");
  expect(await rows.first().innerText()).toMatch(/live/);

  await api(
    `mutation { renameSession(id: "newcomer", title: "A better name") { session { id } } }`,
  );
  await page.getByText("A better name").waitFor();

  await api(`mutation { closeSession(id: "newcomer") { session { id } } }`);
  await rows.first().getByText("live", { exact: true }).waitFor({ state: "detached" });

  await api(`mutation { deleteSession(id: "newcomer") { deletedId } }`);
  await page.getByText("A better name").waitFor({ state: "detached" });
});

test("filters narrow the list, stay in the address, and can be cleared", async () => {
  const page = await open("/app/");
  await page.getByLabel("Title").fill("repair");
  await page.getByText("Release 2.4.0").waitFor({ state: "detached" });
  await page.getByText("Repair B: a circuit breaker").waitFor();
  expect(page.url()).toContain("title=repair");

  await page.getByLabel("Source").selectOption("API");
  await page.getByText("No session matches these filters.").waitFor();
  await page.reload();
  await page.getByText("No session matches these filters.").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByText("Release 2.4.0").waitFor();

  await page.getByLabel("Directory").selectOption("/home/mei/harbor");
  await page.getByText("Regular expression for money amounts").waitFor({ state: "detached" });
  await page.getByLabel("From").fill("2026-11-12");
  await page.getByText("Repair B: a circuit breaker").waitFor({ state: "detached" });
  await page.getByText("Release 2.4.0").waitFor();
});

test("a filtered list takes in only what passes its filters", async () => {
  const page = await open("/app/?title=wanted");
  await page.getByText("No session matches these filters.").waitFor();
  await createSession("unwanted-id");
  await createSession("wanted-id");
  await api(`mutation { renameSession(id: "wanted-id", title: "Wanted") { session { id } } }`);
  await page.getByText("Wanted", { exact: true }).waitFor();
  expect(await page.getByText("unwanted-id").count()).toBe(0);
  for (const id of ["wanted-id", "unwanted-id"])
    await api(`mutation ($id: ID!) { deleteSession(id: $id) { deletedId } }`, { id });
});

test("more pages come while one scrolls", async () => {
  const ids = Array.from({ length: 70 }, (_, n) => `many-${n}`);
  await Promise.all(ids.map((id) => createSession(id, { createdAt: 1_000_000_000_000 })));
  const page = await open("/app/");
  await page.getByText("Release 2.4.0").waitFor();
  const rows = page.getByRole("list", { name: "Sessions" }).getByRole("listitem");
  await page.locator(".page").hover();
  for (const id of ["many-0", "many-69", "many-9"]) {
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, 3_000);
        return page.getByText(id, { exact: true }).count();
      })
      .toBe(1);
  }
  const links = await rows
    .locator("a")
    .evaluateAll((all) => all.map((a) => a.getAttribute("href")));
  expect(new Set(links).size).toBe(links.length);
  for (const id of ids)
    await api(`mutation ($id: ID!) { deleteSession(id: $id) { deletedId } }`, { id });
});

test("a list that cannot be read says so and can be asked for again", async () => {
  const page = await open("/app/search");
  let broken = true;
  await page.route("**/graphql", (route) =>
    broken ? route.fulfill({ status: 503, body: "out of order" }) : route.continue(),
  );
  page.removeAllListeners("console"); // the browser reports the 503, as it should
  await page.getByRole("link", { name: "Sessions", exact: true }).click();
  await page.getByText("The server cannot be reached.").waitFor();
  broken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Release 2.4.0").waitFor();
});
