import type { AccessKind } from "../../schemas/access.ts";
import type { Caller, PublicCommand } from "../../schemas/command.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";

/** What each command does to the environment (docs/access.md). Whether its target and modes allow it is for its plan to say. */
export const commandAccess: { readonly [type in PublicCommand["type"]]: AccessKind } = {
  "project.add": "writes_environment",
  "project.configure": "writes_environment",
  "thread.create": "starts_threads",
  "thread.launch": "starts_threads",
  "thread.send": "writes_threads",
  "thread.fork": "starts_threads",
  "thread.switch": "writes_threads",
  "thread.merge_back": "writes_threads",
  "thread.import": "starts_threads",
  "thread.import_bundle": "writes_environment",
  "thread.import_to": "starts_threads",
  "link.import": "starts_threads",
  "thread.move": "starts_threads",
  "thread.move_cancel": "writes",
  "thread.interrupt": "writes",
  "thread.rename": "writes",
  "thread.set_modes": "writes_threads",
  "thread.mark": "writes",
  "thread.undo": "writes_threads",
  "thread.redo": "writes_threads",
  "thread.delete": "writes",
  "thread.purge": "writes_environment",
  "thread.adopt": "writes_environment",
  "run.answer": "writes_threads",
  "task.spawn": "starts_threads",
  "task.cancel": "writes",
  "task.dismiss": "writes",
  "link.revoke": "writes_environment",
  "link.forget": "writes_environment",
  "link.rejoin": "writes_environment",
};

/** Why a caller may not do this kind of thing at all, whatever its target; null when it may. */
export function accessRefusal(caller: Caller, kind: AccessKind): Refusal | null {
  const given = caller.kind === "client" || caller.kind === "thread" ? caller.access : undefined;
  if (given === undefined || given.includes(kind)) return null;
  return refusal(
    "capability_denied",
    "access_not_given",
    `the caller was not given access that ${kind.replaceAll("_", " ")}`,
    "Ask the person who let it in for more.",
    { needs: kind, given },
  );
}
