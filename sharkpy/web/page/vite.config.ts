import { gzipSync } from "node:zlib";
import type { Plugin, UserConfig } from "vite";
import { defineConfig } from "vitest/config";
import { licences } from "./licences.ts";
import { mockServer } from "./mock/plugin.ts";

const COMPRESSED = /\.(js|css|html|svg|txt)$/;

/** Write a `.gz` file next to each text file, which the server sends as it is. */
function compressed(): Plugin {
  return {
    name: "compressed",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const [name, item] of Object.entries(bundle)) {
          if (!COMPRESSED.test(name)) continue;
          const source = gzipSync(item.type === "chunk" ? item.code : item.source, { level: 9 });
          this.emitFile({ type: "asset", fileName: `${name}.gz`, source });
        }
      },
    },
  };
}

const server = process.env.SHARKPY_SERVER;

/** What the builds of the page and of `profile.html` have in common. */
export const COMMON = {
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../static",
    target: "es2023",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    license: false,
  },
} satisfies UserConfig;

export default defineConfig({
  ...COMMON,
  build: { ...COMMON.build, emptyOutDir: true, modulePreload: { polyfill: false } },
  plugins: [licences(), compressed(), ...(server ? [] : [mockServer()])],
  ...(server ? { server: { proxy: { "/api": server, "/v1": server } } } : {}),
  test: { include: ["tests/unit/**/*.test.ts"] },
});
