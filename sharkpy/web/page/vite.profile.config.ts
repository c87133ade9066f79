/** Build of `profile.html`: one file with its script, its styles and the licences of what it contains. */
import type { Plugin } from "vite";
import { defineConfig } from "vite";
import { licencesOf } from "./licences.ts";
import { COMMON } from "./vite.config.ts";

/** Put the script and the styles into the HTML, as the only file. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let [script, style] = ["", ""];
      for (const [name, item] of Object.entries(bundle)) {
        if (name.endsWith(".html")) continue;
        if (item.type === "chunk") script += item.code;
        else style += item.source;
        delete bundle[name];
      }
      const html = bundle["profile.html"];
      if (html?.type !== "asset" || !script || !style) this.error("the file of profiles has no script or no style");
      const licences = licencesOf(this.getModuleIds()).replaceAll("--", "- -");
      html.source = String(html.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("</head>", () => `<style>${style}</style>\n  </head>`)
        .replace(
          "</body>",
          () => `<script type="module">${script.replaceAll("</script", "<\\/script")}</script>\n  </body>`,
        )
        .replace("</html>", () => `</html>\n<!--\n${licences}-->`);
    },
  };
}

export default defineConfig({
  ...COMMON,
  publicDir: false,
  build: {
    ...COMMON.build,
    emptyOutDir: false,
    cssCodeSplit: false,
    modulePreload: false,
    rolldownOptions: { input: "profile.html", output: { codeSplitting: false } },
  },
  plugins: [oneFile()],
});
