import { defineConfig } from "vitest/config";

// unit: rules without a browser. browser: each screen in Chromium against a real server (tests/).
export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts"] } },
      {
        test: {
          name: "browser",
          include: ["tests/*.browser.ts"],
          globalSetup: ["tests/server.ts"],
          fileParallelism: false,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
