import { z } from "zod";
import { AccessKind } from "../../schemas/access.ts";
import type { Caller } from "../../schemas/command.ts";
import { broadestModes, InteractionMode, type Modes, narrower, RuntimeMode } from "../../schemas/modes.ts";
import type { AppThread, LinkOrigin } from "../../schemas/thread.ts";
import { accessRefusal } from "../runtime/command-access.ts";
import type { Environment } from "../runtime/environment-api.ts";
import { stampThatBounds } from "../runtime/sight.ts";
import { refuse, ToolRefused } from "./refused.ts";

/** Who may use the tools: an agent by its thread's token, a program that a person has let in, or the person. */
export type ToolCaller = Extract<Caller, { kind: "thread" | "client" | "user" }>;

/** What the composition root hands in: who sends a request, and what the configuration says. */
export interface McpAccess {
  /** Who this is, by its token or by where it came in; null when nobody vouches for it. Asked anew for every request. */
  authenticate(request: Request): Caller | null | Promise<Caller | null>;
}

/** Headers by which a caller narrows itself. They never give anything. */
const narrowingHeaders = {
  runtimeMode: "ropewalk-runtime-mode",
  interactionMode: "ropewalk-interaction-mode",
  access: "ropewalk-access",
} as const;

/** The caller as its request narrows it. Throws a refusal for a header that names no mode or access. */
export function narrowed(caller: Caller, headers: Headers): ToolCaller {
  if (caller.kind === "link" || caller.kind === "system")
    refuse("capability_denied", "not_for_links", "the tools are for agents, clients and people", "Use the link's own requests.");
  const runtimeMode = word(headers, narrowingHeaders.runtimeMode, RuntimeMode);
  const interactionMode = word(headers, narrowingHeaders.interactionMode, InteractionMode);
  const access = words(headers, narrowingHeaders.access, AccessKind);
  if (caller.kind === "user") return caller;
  const wished: Modes = {
    runtimeMode: runtimeMode ?? broadestModes.runtimeMode,
    interactionMode: interactionMode ?? broadestModes.interactionMode,
  };
  const given = caller.access;
  const narrowedAccess = access === null ? given : access.filter((kind) => given === undefined || given.includes(kind));
  if (caller.kind === "client") return { ...caller, maxModes: narrower(caller.maxModes, wished), access: narrowedAccess ?? [] };
  const asksForModes = runtimeMode !== null || interactionMode !== null;
  return {
    ...caller,
    ...(asksForModes && { maxModes: narrower(caller.maxModes ?? broadestModes, wished) }),
    ...(narrowedAccess !== undefined && { access: narrowedAccess }),
  };
}

function word<T extends z.ZodType>(headers: Headers, name: string, schema: T): z.output<T> | null {
  const value = headers.get(name);
  if (value === null || value.trim() === "") return null;
  const parsed = schema.safeParse(value.trim());
  if (parsed.success) return parsed.data;
  refuse("invalid_request", "unknown_narrowing", `${name}: ${z.prettifyError(parsed.error)}`, "Correct the header, or leave it out.");
}

function words<T extends z.ZodType>(headers: Headers, name: string, schema: T): z.output<T>[] | null {
  const value = headers.get(name);
  if (value === null) return null;
  const parsed = z.array(schema).safeParse(value.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()])));
  if (parsed.success) return parsed.data;
  refuse("invalid_request", "unknown_narrowing", `${name}: ${z.prettifyError(parsed.error)}`, "Correct the header, or leave it out.");
}

/** Refuses a caller that was not given this kind of access, whatever the target is. */
export function needAccess(caller: ToolCaller, kind: AccessKind): void {
  const denied = accessRefusal(caller, kind);
  if (denied !== null) throw new ToolRefused(denied);
}

/** What a caller may read; see {@link stampThatBounds}. */
export class Sight {
  /** The stamp that bounds it; null when it is not bound. */
  readonly stamp: LinkOrigin | null;

  constructor(environment: Environment, caller: ToolCaller) {
    this.stamp = stampThatBounds(environment, caller);
  }

  sees(thread: AppThread): boolean {
    return this.stamp === null || thread.linkOrigin?.linkId === this.stamp.linkId;
  }
}

/** The name that a caller's command ids carry, so that two callers never meet under one id. */
export function callerName(caller: ToolCaller): string {
  if (caller.kind === "thread") return caller.threadId;
  return caller.kind === "client" ? caller.clientId : "user";
}
