import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` serves the app with hot reloading and hands the API to a running server.
const server = process.env["SESSIONGRAPH_URL"] ?? "http://127.0.0.1:8642";

export default defineConfig({
  base: "/app/",
  plugins: [react()],
  build: {
    outDir: "../server/frontend/built",
    emptyOutDir: true,
    // Nothing is inlined: every file has an address, a type and a cache entry of its own.
    assetsInlineLimit: 0,
  },
  server: {
    // The server refuses requests whose Origin is not its own, so the proxy presents its own.
    proxy: {
      "/graphql": { target: server, ws: true, changeOrigin: true, headers: { origin: server } },
    },
  },
});
