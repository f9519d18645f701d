import { createRequire } from "node:module";

/** The package's version. By its own name, so that sources and `dist/` find the same file. */
export function packageVersion(): string {
  return createRequire(import.meta.url)("ropewalk/package.json").version;
}
