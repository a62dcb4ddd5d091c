import { defineConfig } from "vite";

export default defineConfig(({ mode }) => ({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    sourcemap: mode === "development",
    minify: mode === "development" ? false : "esbuild",
    // The content security policy forbids inline assets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // This also removes the stamp of the previous build.
    emptyOutDir: true,
  },
}));
