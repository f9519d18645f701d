import { Option } from "commander";
import type { AccessKind } from "../../schemas/access.ts";
import { badInput } from "./failure.ts";

// Spelled out here, since the schemas are a third of what a command would load.
const kinds: Readonly<Record<AccessKind, true>> = {
  reads: true,
  writes: true,
  writes_threads: true,
  starts_threads: true,
  writes_environment: true,
};

/** What a program may do at all (docs/access.md); `usual` says what that is without the option. */
export function accessOption(usual: string): Option {
  const all = Object.keys(kinds).join(", ");
  return new Option("--access <kinds>", `what it may do, with commas: ${all} (${usual})`).argParser(accessKinds);
}

function accessKinds(text: string): AccessKind[] {
  const named = text.split(",").map((kind) => kind.trim());
  const wrong = named.find((kind) => !(kind in kinds));
  if (wrong === undefined) return [...new Set(named)] as AccessKind[];
  throw badInput("access_kind", `"${text}" names an access that there is not`, `There are: ${Object.keys(kinds).join(", ")}.`);
}
