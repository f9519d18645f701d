import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { EnvironmentId } from "../schemas/ids.ts";
import { settleIdentity } from "./backing-up.ts";
import { Dispatcher } from "./runtime/dispatcher.ts";
import { CommandRefused } from "./runtime/environment-api.ts";
import type { Clock } from "./runtime/ports/clock.ts";
import type { Identifiers } from "./runtime/ports/identifiers.ts";
import type { Store } from "./runtime/ports/store.ts";
import type { Scratch } from "./runtime/settings.ts";

/**
 * Before anything else of an environment: nobody else has its identity, and its records say where its folder is now. What
 * that leaves to be done is found by the recovery. Answers the project of threads that belong to none.
 */
export async function settleFolder(
  dir: string,
  environmentId: EnvironmentId,
  store: Store,
  ids: Identifiers,
  clock: Clock,
): Promise<Scratch> {
  const dispatcher = new Dispatcher({ store, clock, ids, settings: null as never, scratch: null as never, onCommitted() {}, onFatal() {} });
  await settleIdentity(dir, environmentId, (command) => dispatcher.report(command));
  return scratchFolder(dir, store, dispatcher);
}

/** A folder of the environment's own. */
async function scratchFolder(dir: string, store: Store, dispatcher: Dispatcher): Promise<Scratch> {
  const path = join(dir, "scratch");
  mkdirSync(path, { recursive: true });
  const known = store.projects().find((p) => p.path === path);
  if (known !== undefined) return { projectId: known.id, path };
  const facts = new Map([[path, { real: path, path, repository: null, worktrees: [path] }]]);
  const receipt = await dispatcher.report({ type: "project.add", path, name: "scratch" }, [], facts);
  if (!receipt.ok) throw new CommandRefused(receipt.refusal);
  return { projectId: receipt.result.projectId as Scratch["projectId"], path };
}
