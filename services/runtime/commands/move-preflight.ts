import type { MoveChecked, MoveLack, MovePreflight } from "../../../schemas/move.ts";
import type { ProviderChoice } from "../../../schemas/provider.ts";
import type { PlanContext } from "../plan.ts";
import { asRun } from "../typed-actors.ts";
import { packageVersion } from "../version.ts";
import { projectWith } from "./move-arrive.ts";

/** What a peer's thread would lack here, all of it at once. Nothing is changed, and nothing promised. */
export function checkMove(context: PlanContext, move: MovePreflight): MoveChecked {
  const projectId = projectWith(context, move.repository);
  const lacks = [grantLack(context), agentLack(context, move.provider), projectLack(move, projectId)];
  return {
    lacks: lacks.filter((lack) => lack !== null),
    projectId,
    known: context.facts.get(move.threadId)?.commits ?? [],
    version: packageVersion(),
  };
}

function grantLack({ caller, settings }: PlanContext): MoveLack | null {
  const grants = caller.kind === "link" ? (settings.link(caller.linkId)?.grants ?? []) : [];
  if (grants.some((grant) => grant.kind === "move")) return null;
  return { what: "grant", message: "its link has no grant move", hint: "A person there can grant it." };
}

function agentLack(context: PlanContext, wanted: ProviderChoice | null): MoveLack | null {
  const { providerNames: names } = context.settings;
  const choice = wanted ?? context.settings.defaultProvider();
  if (choice === null) return { what: "agent", message: "it has no agent that serves when none is named", hint: "Name one with --with." };
  if (!context.settings.hasProvider(choice.instance))
    return {
      what: "agent",
      message: `it has no agent "${choice.instance}"`,
      hint: names.length > 0 ? `Name one that it has with --with: ${names.join(", ")}.` : "Configure one there.",
    };
  return loginLack(context, choice.instance);
}

/** Known only by how it went the last time: an agent that nobody has asked yet may be logged in or not. */
function loginLack({ overlay }: PlanContext, instance: string): MoveLack | null {
  const last = overlay
    .actorsBy({ kind: "run", statuses: ["completed", "failed"], newestFirst: true, limit: looked })
    .map(asRun)
    .filter((run) => run.provider?.instance === instance && run.endedAt !== null)
    .sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0))[0];
  if (last?.error == null || !loginReasons.has(last.error.reason)) return null;
  return { what: "login", message: `its agent "${instance}" is not logged in: ${last.error.message}`, hint: "Log it in there." };
}
const looked = 200;
const loginReasons: ReadonlySet<string> = new Set(["login_required", "access_denied"]);

function projectLack({ repository }: MovePreflight, found: unknown): MoveLack | null {
  if (repository === null || found !== null) return null;
  return {
    what: "project",
    message: `it does not know the repository ${repository.value}`,
    hint: "Clone it there and add it with ropewalk project add, or move the conversation alone with --without-code.",
  };
}
