/** Vite plugin: the licences of all packages in the bundle, as THIRD_PARTY.txt. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "vite";

interface Package {
  name: string;
  version: string;
  license: string;
}

function packageFolder(file: string): string | null {
  if (!file.includes("/node_modules/")) return null;
  let folder = dirname(file.split("?")[0] ?? "");
  while (!existsSync(join(folder, "package.json")) || !readPackage(folder).version) folder = dirname(folder);
  return folder;
}

function readPackage(folder: string): Package {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Package;
}

function licenceOf(folder: string): string {
  const { name, version, license } = readPackage(folder);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`package ${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}

/** Licences of the packages that these modules are from. */
export function licencesOf(modules: Iterable<string>): string {
  const folders = new Set<string>();
  for (const id of modules) {
    const folder = packageFolder(id.replace(/^\0/, ""));
    if (folder) folders.add(folder);
  }
  return [...folders]
    .sort()
    .map(licenceOf)
    .join(`\n${"-".repeat(80)}\n\n`);
}

export function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "THIRD_PARTY.txt", source: licencesOf(this.getModuleIds()) });
    },
  };
}
