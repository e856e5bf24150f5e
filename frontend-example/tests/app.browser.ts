// What holds on every screen: nothing that axe minds, in light and dark, on wide and narrow screens;
// and the bundle keeps its budget. The screenshots of all of it are kept; two of them are the README's.
import { gzipSync } from "node:zlib";
import { copyFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { open, SCREENSHOTS, violations } from "./browser";

const ROOT = resolve(import.meta.dirname, "../..");

interface Screen {
  name: string;
  path: string;
  ready: (page: Page) => Promise<void>;
}

const SCREENS: Screen[] = [
  { name: "sessions", path: "/app/", ready: (page) => page.getByText("Release 2.4.0").waitFor() },
  {
    name: "search",
    path: "/app/search?q=idempotency key",
    ready: (page) => page.locator("mark").first().waitFor(),
  },
  {
    name: "session",
    path: "/app/sessions/harbor-ledger-migration?seq=59",
    ready: async (page) => {
      await page
        .locator("#event-59")
        .getByRole("button", { name: "Show the replacements" })
        .click();
      await page.getByText("stands now").waitFor();
      await page.getByText("1,251 of 131,072 tokens").waitFor({ state: "attached" });
    },
  },
  {
    name: "lineage",
    path: "/app/sessions/harbor-retry-fork-a/lineage",
    ready: (page) => page.locator(".card-target").waitFor(),
  },
];
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 740 };

for (const { name, path, ready } of SCREENS) {
  test(`${name} is accessible and fits, light and dark, wide and narrow`, async () => {
    const page = await open(path);
    await ready(page);
    for (const colorScheme of ["light", "dark"] as const) {
      for (const viewport of [WIDE, NARROW]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(viewport);
        const variant = `${name}-${colorScheme}-${viewport === WIDE ? "wide" : "narrow"}`;
        await page.screenshot({ path: join(SCREENSHOTS, `${variant}.png`) });
        await expect.poll(() => violations(page), { message: variant }).toEqual([]);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(width, variant).toBeLessThanOrEqual(viewport.width);
      }
    }
  });
}

test("the keyboard reaches everything in order, from the link past the bar on", async () => {
  const page = await open("/app/");
  await page.getByText("Release 2.4.0").waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("Skip to content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  expect(
    await page.evaluate(() => document.activeElement?.closest("label")?.textContent ?? ""),
  ).toContain("Title");
});

test("on a narrow screen the values are a drawer", async () => {
  const page = await open("/app/sessions/harbor-tour", { viewport: NARROW });
  await page.getByRole("button", { name: "Values" }).click();
  await page.getByRole("heading", { name: "Tokens" }).waitFor();
  await expect.poll(() => violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("heading", { name: "Tokens" }).waitFor({ state: "hidden" });
});

test("the app weighs less than 400 kB, gzipped", () => {
  const assets = join(ROOT, "server/frontend/built/assets");
  const sizes = readdirSync(assets).map(
    (name) => gzipSync(readFileSync(join(assets, name))).length,
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(400_000);
});

test("the README's pictures are small, and made here", () => {
  for (const [from, to] of [
    ["session-light-wide", "session"],
    ["lineage-dark-wide", "lineage"],
  ] as const) {
    const made = join(SCREENSHOTS, `${from}.png`);
    expect(statSync(made).size).toBeLessThan(300_000);
    const picture = join(ROOT, "docs/pictures", `${to}.png`);
    if (process.env["UPDATE_PICTURES"] === "1") copyFileSync(made, picture);
    expect(statSync(picture).size).toBeLessThan(300_000);
  }
});
