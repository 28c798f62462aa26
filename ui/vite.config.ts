import { defineConfig } from "vite";

// Everything is a file of its own with a hash in its name: nothing inline, as the server's content security policy demands.
export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic" } },
  build: {
    outDir: "dist",
    assetsInlineLimit: 0,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // light-dark()
    chunkSizeWarningLimit: 800,
  },
  server: {
    // `npm run dev` beside a `plait dev`: sign in with a key.
    proxy: { "/api": process.env.PLAIT_URL ?? "http://127.0.0.1:8080" },
  },
});
