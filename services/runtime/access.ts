import type { Caller } from "../../schemas/command.ts";
import type { EnvironmentId, LinkId } from "../../schemas/ids.ts";
import type { GrantKind, Link, LinkConfig } from "../../schemas/link.ts";
import { broadestModes, escalation, type Modes, narrower } from "../../schemas/modes.ts";
import type { AppThread, LinkOrigin } from "../../schemas/thread.ts";
import { needThread, type PlanContext } from "./plan.ts";
import { refuse } from "./refused.ts";
import { linkFrom, runFrom } from "./typed-actors.ts";

export type ModeWish = { runtimeMode?: Modes["runtimeMode"] | undefined; interactionMode?: Modes["interactionMode"] | undefined };

/** The broadest modes that a caller may use or give: an agent's own, a client's, its grant's, or any for a person (contract §8). */
export function modeCap(context: PlanContext, grant: GrantKind | null = null): Modes {
  const { caller } = context;
  if (caller.kind === "thread") return agentModes(context, caller);
  if (caller.kind === "client") return caller.maxModes;
  if (caller.kind === "link") {
    const found = needGrant(context, grant);
    return "maxModes" in found ? found.maxModes : broadestModes;
  }
  return broadestModes;
}

/** What an agent has itself: its thread's modes, and no more than those that its run was sent with or that it narrowed itself to. */
function agentModes(context: PlanContext, caller: Extract<Caller, { kind: "thread" }>): Modes {
  const thread = needThread(context, caller.threadId);
  const runId = caller.runId ?? thread.activeRunId;
  const run = runId === null ? null : runFrom(context.overlay, runId);
  const own = run === null ? thread.modes : narrower(thread.modes, run.modes);
  return caller.maxModes === undefined ? own : narrower(own, caller.maxModes);
}

/** Modes as wished, within the cap: what was asked for beyond it is refused, what nobody asked for is narrowed. */
export function settleModes(wish: ModeWish, unasked: Modes, cap: Modes): Modes {
  const fallback = narrower(unasked, cap);
  const modes = {
    runtimeMode: wish.runtimeMode ?? fallback.runtimeMode,
    interactionMode: wish.interactionMode ?? fallback.interactionMode,
  };
  const beyond = escalation(modes, cap);
  if (beyond === "runtime")
    refuse(
      "runtime_mode_escalation_denied",
      "beyond_cap",
      `${modes.runtimeMode} is broader than ${cap.runtimeMode}`,
      `Ask for ${cap.runtimeMode} or narrower.`,
    );
  if (beyond === "interaction")
    refuse(
      "interaction_mode_escalation_denied",
      "beyond_cap",
      `${modes.interactionMode} is broader than ${cap.interactionMode}`,
      `Ask for ${cap.interactionMode}.`,
    );
  return modes;
}

export function needLink(context: PlanContext, id: LinkId): Link {
  const link = linkFrom(context.overlay, id);
  if (link === null) refuse("invalid_request", "unknown_link", `there is no link ${id} here`, "See: ropewalk link list");
  return link;
}

/** A link as it is configured, for as long as nobody has ended it; null otherwise. */
export function liveLink(context: Pick<PlanContext, "overlay" | "settings">, id: LinkId): LinkConfig | null {
  return linkFrom(context.overlay, id)?.status === "revoked" ? null : context.settings.link(id);
}

/** The grant of the calling link; refused where the link has none of that kind. */
export function needGrant(context: PlanContext, kind: GrantKind | null) {
  const { caller } = context;
  const link = caller.kind === "link" ? liveLink(context, caller.linkId) : null;
  const grant = link?.grants.find((g) => g.kind === kind);
  if (grant === undefined)
    refuse(
      "capability_denied",
      "not_granted",
      `the link has no grant ${kind ?? "for this"}`,
      "The other side's owner can grant it on their link.",
    );
  return grant;
}

/** Refuses a caller that may not change this thread: a link what does not carry its stamp, an agent or a client what is broader than itself. */
export function mayChange(context: PlanContext, thread: AppThread): void {
  const { caller } = context;
  if (caller.kind === "link" && (thread.linkOrigin === null || thread.linkOrigin.linkId !== caller.linkId))
    refuse(
      "capability_denied",
      "not_started_by_link",
      `${thread.id} was not started by this link`,
      "A link may change only what it started.",
    );
  if (caller.kind === "thread") {
    const own = needThread(context, caller.threadId);
    if (own.linkOrigin !== null && thread.linkOrigin?.linkId !== own.linkOrigin.linkId)
      refuse(
        "capability_denied",
        "not_started_by_link",
        `${thread.id} was not started by the link that started the caller`,
        "It may change only what carries its own stamp.",
      );
    if (thread.id !== own.id) holdWithin(thread, agentModes(context, caller));
  }
  if (caller.kind === "client") holdWithin(thread, caller.maxModes);
}

function holdWithin(thread: AppThread, cap: Modes): void {
  const beyond = escalation(thread.modes, cap);
  if (beyond === null) return;
  const code = beyond === "runtime" ? "runtime_mode_escalation_denied" : "interaction_mode_escalation_denied";
  refuse(code, "beyond_cap", `${thread.id} has broader modes than the caller`, "Ask a person to do it.");
}

/** What is the environment's own is not for a link, nor for what a link started. */
export function mayChangeEnvironment(context: PlanContext): void {
  const { caller } = context;
  const fromLink = caller.kind === "link" || (caller.kind === "thread" && needThread(context, caller.threadId).linkOrigin !== null);
  if (fromLink)
    refuse("capability_denied", "not_for_links", "a link may change only what it started", "Ask a person of this environment to do it.");
}

/** The stamp that a caller's new thread carries: its own link's, or what its thread inherited. */
export function originOf(context: PlanContext, parent: AppThread | null): LinkOrigin | null {
  const { caller } = context;
  if (caller.kind === "link") return { environmentId: caller.environmentId, linkId: caller.linkId };
  if (caller.kind === "thread") return needThread(context, caller.threadId).linkOrigin ?? parent?.linkOrigin ?? null;
  return parent?.linkOrigin ?? null;
}

/** What a link started may not use this environment's other links (contract §8). */
export function mayUseLink(context: PlanContext, thread: AppThread | null, environmentId: EnvironmentId): void {
  const { caller } = context;
  const stamp = thread?.linkOrigin ?? (caller.kind === "thread" ? needThread(context, caller.threadId).linkOrigin : null);
  if (caller.kind === "link" || (stamp !== null && stamp.environmentId !== environmentId))
    refuse(
      "capability_denied",
      "no_chaining",
      "what a link started may not use other links",
      "Ask a person of this environment to send it on.",
    );
}

export function createdBy(caller: Caller): "user" | "agent" | "system" {
  if (caller.kind === "thread" || caller.kind === "link") return "agent";
  return caller.kind === "client" ? "user" : caller.kind;
}
