import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";

/**
 * The vocabulary as JSON Schema, for readers without TypeScript: `docs/schemas/<file>.json` for every file of schemas/,
 * with its exported Zod schemas under `$defs`, in order of their names. References between them are kept as references.
 * Run as a program it writes them (`npm run docs:schemas`).
 */
const sources = fileURLToPath(new URL("../../schemas/", import.meta.url));
const target = fileURLToPath(new URL("../../docs/schemas/", import.meta.url));

/** File name (`run.json`, `events/run.json`) to text, as it must be in `docs/schemas/`. */
export async function renderJsonSchemas(): Promise<Map<string, string>> {
  const registry = z.registry<{ id: string }>();
  const names = new Map<z.ZodType, string>();
  const files = new Map<string, Map<string, string>>();
  for (const file of sourceFiles()) {
    const exported: Record<string, unknown> = await import(pathToFileURL(join(sources, file)).href);
    const page = file.replace(/\.ts$/, ".json");
    for (const name of Object.keys(exported).sort()) {
      const value = exported[name];
      if (!(value instanceof z.ZodType)) continue;
      const id = `${page}#/$defs/${name}`;
      const known = names.get(value);
      if (known === undefined) {
        names.set(value, id);
        registry.add(value, { id });
      }
      files.set(page, (files.get(page) ?? new Map()).set(name, known ?? id));
    }
  }
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => id, unrepresentable: "any", io: "input" });
  return new Map([...files].map(([page, defs]) => [page, renderPage(page, defs, schemas)]));
}

function sourceFiles(): string[] {
  return readdirSync(sources, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".ts") && name !== "index.ts")
    .sort();
}

function renderPage(page: string, defs: Map<string, string>, schemas: Record<string, object>): string {
  const up = "../".repeat(page.split("/").length - 1);
  const relative = (ref: string) => (ref.startsWith(`${page}#`) ? ref.slice(page.length) : `${up}${ref}`);
  const own = (name: string, id: string) => {
    // A second name of the same schema points at the first.
    if (id !== `${page}#/$defs/${name}`) return { $ref: relative(id) };
    const { $schema: _dialect, $id: _id, ...rest } = schemas[id] as Record<string, unknown>;
    return rest;
  };
  const body = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $defs: Object.fromEntries([...defs].map(([name, id]) => [name, own(name, id)])),
  };
  const rewrite = (key: string, value: unknown) =>
    key === "$ref" && typeof value === "string" && !value.startsWith("#") && !value.startsWith("../") ? relative(value) : value;
  return `${JSON.stringify(body, rewrite, 2)}\n`;
}

/** Files of `docs/schemas/` that are missing, differ, or belong to no schema any more. */
export async function staleJsonSchemas(): Promise<string[]> {
  const wanted = await renderJsonSchemas();
  const stale = [...wanted].filter(([name, text]) => read(name) !== text).map(([name]) => name);
  return [...stale, ...present().filter((name) => !wanted.has(name))].sort();
}

function read(name: string): string | null {
  try {
    return readFileSync(join(target, name), "utf8");
  } catch {
    return null;
  }
}

function present(): string[] {
  try {
    return readdirSync(target, { recursive: true, encoding: "utf8" })
      .map((name) => name.replaceAll("\\", "/"))
      .filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}

async function write(): Promise<void> {
  const wanted = await renderJsonSchemas();
  rmSync(target, { recursive: true, force: true });
  for (const [name, text] of wanted) {
    mkdirSync(join(target, name, ".."), { recursive: true });
    writeFileSync(join(target, name), text);
  }
  console.error(`docs/schemas: ${wanted.size} files`);
}

if (import.meta.main) await write();
