// Measured on demand (`npm run measure`), never asserted: figures of one machine. What they are for
// is in frontend-example/README.md.
import type { Page } from "playwright-core";
import { test } from "vitest";
import { append, createSession, message, open } from "./browser";

const AT_ONCE = 64;

async function createAll(ids: string[], more: (n: number) => object): Promise<void> {
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE);
    await Promise.all(some.map((id, n) => createSession(id, { ...more(from + n) })));
  }
}

const quantile = (of: number[], q: number): number =>
  of.toSorted((one, other) => one - other)[Math.floor((of.length - 1) * q)] ?? NaN;
const ms = (value: number): string => `${value.toFixed(0)} ms`;

test("first meaningful paint with 10,000 sessions stored", async () => {
  await createAll(
    Array.from({ length: 10_000 }, (_, n) => `stored-${n}`),
    (n) => ({ createdAt: 1_500_000_000_000 + n }),
  );
  const painted: number[] = [];
  for (let visit = 0; visit < 5; visit++) {
    const page = await open("/app/");
    await page.locator(".row").first().waitFor();
    painted.push(await page.evaluate(firstRowAt));
  }
  console.log(`rows painted after ${painted.map(ms).join(", ")}`);
}, 300_000);

/** The largest contentful paint so far; with rows on screen that is the list. */
function firstRowAt(): Promise<number> {
  return new Promise((found) => {
    new PerformanceObserver((list) => {
      found(list.getEntries().at(-1)?.startTime ?? NaN);
    }).observe({ type: "largest-contentful-paint", buffered: true });
  });
}

test("from a keystroke to the results, over 10,000 messages", async () => {
  const words = "retry queue ledger webhook deploy index cursor timeout budget replay".split(" ");
  const ids = Array.from({ length: 200 }, (_, n) => `spoken-${n}`);
  await createAll(ids, () => ({}));
  for (const [n, id] of ids.entries()) {
    const said = (at: number): string =>
      `${words[(n + at) % 10] ?? ""} ${words[(n * 3 + at) % 10] ?? ""} number ${at}`;
    await append(id, ...Array.from({ length: 50 }, (_, at) => message(said(at))));
  }
  const page = await open("/app/search");
  await page.getByText("Type to search.").waitFor();
  await page.evaluate(timeKeystrokes);
  await page.getByRole("searchbox").pressSequentially("ledger timeout number", { delay: 150 });
  await page.waitForTimeout(500);
  const times = await page.evaluate(() => (window as unknown as { times: number[] }).times);
  console.log(`median ${ms(quantile(times, 0.5))}, p95 ${ms(quantile(times, 0.95))}`);
}, 300_000);

/** Collects the time from each input until an answer to it is in the document. */
function timeKeystrokes(): void {
  const times: number[] = [];
  Object.assign(window, { times });
  addEventListener(
    "input",
    () => {
      const begun = performance.now();
      const look = (): void => {
        const busy = document.querySelector(".page [aria-busy='true'], .page .loading");
        const searching = document.querySelector(".state-title")?.textContent === "Searching …";
        if (busy || searching) requestAnimationFrame(look);
        else times.push(performance.now() - begun);
      };
      requestAnimationFrame(() => requestAnimationFrame(look));
    },
    { capture: true },
  );
}

test("a lineage of 2,000 sessions", async () => {
  await createSession("ancestor");
  const ids = Array.from({ length: 2_000 }, (_, n) => `kin-${n}`);
  await createAll(ids, (n) => ({
    parentSession: n < 40 ? "ancestor" : `kin-${Math.floor(n / 40) - 1}`,
  }));
  const page = await open("/app/");
  await page.locator(".row").first().waitFor();
  const begun = performance.now();
  await page.goto(page.url() + "sessions/ancestor/lineage");
  await page.locator(".card-target").waitFor();
  console.log(`drawn after ${ms(performance.now() - begun)}, page load included`);
  console.log(`panned at ${(await panned(page, false)).toFixed(0)} frames/s`);
  console.log(`panned from afar at ${(await panned(page, true)).toFixed(0)} frames/s`);
}, 300_000);

async function panned(page: Page, afar: boolean): Promise<number> {
  await page.mouse.move(700, 450);
  for (let step = 0; afar && step < 4; step++) await page.mouse.wheel(0, 400);
  const counted = page.evaluate(
    () =>
      new Promise<number>((found) => {
        let frames = 0;
        const begun = performance.now();
        const next = (): void => {
          frames += 1;
          const passed = performance.now() - begun;
          if (passed < 2_000) requestAnimationFrame(next);
          else found((frames * 1_000) / passed);
        };
        requestAnimationFrame(next);
      }),
  );
  await page.mouse.down();
  for (let step = 0; step < 120; step++) {
    await page.mouse.move(700 + Math.sin(step / 12) * 300, 450 + Math.cos(step / 15) * 200);
  }
  await page.mouse.up();
  return counted;
}
