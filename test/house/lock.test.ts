import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

type Entry = { [kind in "dependencies" | "optionalDependencies" | "devDependencies"]?: Record<string, string> };

/** The places where a package at `from` (empty: the project) finds another one, nearest first. */
function places(from: string, name: string): string[] {
  const folders = from === "" ? [] : from.split(/(?=\/node_modules\/)/);
  return Array.from({ length: folders.length + 1 }, (_, up) =>
    [...folders.slice(0, folders.length - up), `node_modules/${name}`].join("/"),
  ).map((place) => place.replaceAll("//", "/"));
}

describe.each(["package-lock.json", "test/fixtures/mcp-tools/package-lock.json"])("%s", (file) => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
  const packages: Record<string, Entry> = JSON.parse(text).packages;

  test("the lock file names no registry", () => {
    expect(text).not.toMatch(/"resolved"/);
  });

  test("the lock file holds every package that it names, so that npm ci can install it", () => {
    const missing = Object.entries(packages).flatMap(([from, entry]) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies, ...entry.devDependencies })
        .filter((name) => !places(from, name).some((place) => place in packages))
        .map((name) => `${from} needs ${name}`),
    );
    expect(missing).toEqual([]);
  });
});
