import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// `npm run dev` serves the app with hot reloading and hands the API to a running server.
const server = process.env["SESSIONGRAPH_URL"] ?? "http://127.0.0.1:8642";

export default defineConfig({
  base: "/app/",
  plugins: [react()],
  build: {
    outDir: "../server/frontend/built",
    emptyOutDir: true,
    // The content security policy allows no data: URLs, so nothing is inlined.
    assetsInlineLimit: 0,
  },
  server: {
    // The server refuses requests whose Origin is not its own, so the proxy presents its own.
    proxy: {
      "/graphql": { target: server, ws: true, changeOrigin: true, headers: { origin: server } },
    },
  },
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
