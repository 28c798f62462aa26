import { defineConfig } from "vite";

// Write separate files with hashed names: the server's content security policy allows no inline code.
export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic" } },
  build: {
    outDir: "dist",
    assetsInlineLimit: 0,
    cssCodeSplit: false, // one small style sheet, so that a page that is loaded later, after an outage, has its styles
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // light-dark()
    chunkSizeWarningLimit: 800,
  },
  server: {
    // For `npm run dev` next to a running `plait dev`. Sign in with an API key.
    proxy: { "/api": process.env.PLAIT_URL ?? "http://127.0.0.1:8080" },
  },
});
