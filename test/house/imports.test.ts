import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const biome = join(dirname(createRequire(import.meta.url).resolve("@biomejs/biome/package.json")), "bin", "biome");
const house = ["schemas", "actors", "services"];

let copy: string;
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "ropewalk-house-"));
  for (const name of [...house, "index.ts", "biome.json", "package.json", ".gitignore"])
    cpSync(join(root, name), join(copy, name), { recursive: true });
});
afterEach(() => rmSync(copy, { recursive: true, force: true }));

/** What the lint finds against the house's order, as `file rule`. */
function findings(): string[] {
  const rules = ["style/noRestrictedImports", "style/noDefaultExport", "suspicious/noImportCycles", "performance/noReExportAll"];
  const only = rules.map((rule) => `--only=${rule}`);
  const linted = spawnSync(process.execPath, [biome, "lint", ...only, "--reporter=github", "--max-diagnostics=none", "."], {
    cwd: copy,
    encoding: "utf8",
  });
  const found = [...linted.stdout.matchAll(/^::error title=lint\/\w+\/(\w+),file=([^,]+),/gm)];
  if ((linted.status === 0) !== (found.length === 0)) throw new Error(`the lint did not run: ${linted.stdout}${linted.stderr}`);
  return found.map(([, rule, file = ""]) => `${file.slice(file.indexOf(copy) === 0 ? copy.length + 1 : 0)} ${rule}`).sort();
}

function plant(file: string, source: string): void {
  mkdirSync(dirname(join(copy, file)), { recursive: true });
  writeFileSync(join(copy, file), source);
}

test("the tree as it is keeps its order", () => {
  expect(findings()).toEqual([]);
});

describe("an import against the direction is found", () => {
  const wrong: [from: string, specifier: string][] = [
    ["schemas/planted.ts", "../actors/run.ts"],
    ["schemas/events/planted.ts", "../../services/runtime/kernel.ts"],
    ["schemas/planted.ts", "node:fs"],
    ["actors/planted.ts", "../services/runtime/kernel.ts"],
    ["actors/planted.ts", "node:crypto"],
    ["actors/planted.ts", "uuid"],
    ["services/runtime/planted.ts", "../store/sqlite.ts"],
    ["services/runtime/ports/planted.ts", "../../links/exchange.ts"],
    ["services/runtime/planted.ts", "../environment.ts"],
    ["services/links/planted.ts", "../providers/contract.ts"],
    ["services/links/nats/planted.ts", "../../store/sqlite.ts"],
    ["services/links/planted.ts", "./../store/sqlite.ts"],
    ["services/links/planted.ts", "../runtime/../store/sqlite.ts"],
    ["services/links/planted.ts", "../../services/store/sqlite.ts"],
    ["services/providers/codex/planted.ts", "../../cli/main.ts"],
    ["services/http/planted.ts", "../environment.ts"],
    ["services/http/planted.ts", "../serving.ts"],
    ["services/http/network/planted.ts", "../../oauth/service.ts"],
    ["services/oauth/planted.ts", "../http/problem.ts"],
    ["services/oauth/planted.ts", "../linking.ts"],
    ["services/oauth/planted.ts", "../network-door.ts"],
    ["services/cli/planted.ts", "../oauth/service.ts"],
    ["services/http/planted.ts", "node:sqlite"],
    ["services/store/planted.ts", "../context/build.ts"],
    ["services/planted.ts", "./cli/main.ts"],
    ["services/planted.ts", "node:sqlite"],
    ["services/cli/planted.ts", "../http/server.ts"],
    ["services/cli/commands/planted.ts", "../../store/sqlite.ts"],
    ["services/cli/planted.ts", "../sessions/lines.ts"],
    ["services/http/planted.ts", "../sessions/find.ts"],
    ["services/cli/planted.ts", "../../test/support/model-endpoint.ts"],
    ["services/context/planted.ts", "../../schemas/index.ts"],
    ["services/context/planted.ts", "ropewalk/schemas"],
    ["actors/planted.ts", "./index.ts"],
  ];
  for (const form of ["import", "import type", "export", "import()"] as const) {
    test(`written as ${form}`, () => {
      for (const [place, [file, specifier]] of wrong.entries()) plant(file.replace("planted", `planted-${place}`), write(form, specifier));
      const expected = wrong.map(([file], place) => `${file.replace("planted", `planted-${place}`)} noRestrictedImports`);
      expect(findings().filter((finding) => finding.endsWith("noRestrictedImports"))).toEqual(expected.sort());
    });
  }
});

test("an import in the direction passes", () => {
  const fine: [from: string, specifier: string][] = [
    ["actors/planted.ts", "../schemas/run.ts"],
    ["services/runtime/ports/planted.ts", "../kernel.ts"],
    ["services/links/nats/planted.ts", "../../runtime/ports/clock.ts"],
    ["services/links/nats/planted.ts", "../../../schemas/ids.ts"],
    ["services/providers/codex/planted.ts", "../contract.ts"],
    ["services/store/planted.ts", "node:sqlite"],
    ["services/planted.ts", "./store/sqlite.ts"],
    ["services/cli/planted.ts", "../environment.ts"],
    ["services/cli/planted.ts", "../serving.ts"],
    ["services/cli/planted.ts", "../http/client.ts"],
    ["services/cli/commands/planted.ts", "../../http/client.ts"],
    ["services/cli/commands/planted.ts", "../../sessions/find.ts"],
  ];
  for (const [place, [file, specifier]] of fine.entries()) plant(file.replace("planted", `planted-${place}`), write("import", specifier));
  expect(findings()).toEqual([]);
});

function write(form: "import" | "import type" | "export" | "import()", specifier: string): string {
  if (form === "import()") return `export const planted = () => import("${specifier}");\n`;
  if (form === "export") return `export { planted } from "${specifier}";\n`;
  return `${form} { planted } from "${specifier}";\nexport const use = (value: typeof planted) => value;\n`;
}

test("a cycle is found, however long", () => {
  plant("services/runtime/planted-a.ts", 'import { b } from "./planted-b.ts";\nexport const a = () => b;\n');
  plant("services/runtime/planted-b.ts", 'import { c } from "./ports/planted-c.ts";\nexport const b = () => c;\n');
  plant("services/runtime/ports/planted-c.ts", 'import { a } from "../planted-a.ts";\nexport const c = () => a;\n');
  expect(findings()).toContain("services/runtime/planted-a.ts noImportCycles");
});

test("a default export and a re-export of everything are found", () => {
  plant("services/runtime/planted-default.ts", "export default 1;\n");
  plant("services/runtime/planted-all.ts", 'export * from "./kernel.ts";\n');
  expect(findings()).toEqual(["services/runtime/planted-all.ts noReExportAll", "services/runtime/planted-default.ts noDefaultExport"]);
});

/** Biome's patterns name the folders of services/, and see no `import("…")` that stands for a type. */
test("the lint knows every service, and no type is imported past it", () => {
  const rules = readFileSync(join(root, "biome.json"), "utf8");
  const services = readdirSync(join(root, "services"), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== "runtime",
  );
  expect(services.map((entry) => entry.name).filter((name) => !rules.includes(`"**/../${name}/**"`))).toEqual([]);

  const files = house.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const hidden = files.filter(
    (file) =>
      file.endsWith(".ts") &&
      /typeof import\(|import\("[^"]+"\)\.(?!then\b|catch\b|finally\b)/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(hidden).toEqual([]);
});
