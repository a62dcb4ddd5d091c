import { defineConfig } from "vite";

export default defineConfig(({ mode }) => ({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    sourcemap: mode === "development",
    minify: mode === "development" ? false : "esbuild",
    // Nothing inline: the policy of the page forbids it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The stamp by which a build is known lies there too.
    emptyOutDir: true,
  },
}));
