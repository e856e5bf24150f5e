import { defineConfig } from "vitest/config";

const inChromium = {
  globalSetup: ["tests/server.ts"],
  fileParallelism: false,
  testTimeout: 30_000,
  hookTimeout: 60_000,
};

// unit: rules without a browser. browser: each screen in Chromium against a real server. measure:
// figures for docs/performance.md, on demand.
export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts"] } },
      { test: { name: "browser", include: ["tests/*.browser.ts"], ...inChromium } },
      { test: { name: "measure", include: ["tests/*.measure.ts"], ...inChromium } },
    ],
  },
});
