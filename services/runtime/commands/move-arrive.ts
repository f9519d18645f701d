import { importThreadId, type ProjectId, type RunId, type ThreadId } from "../../../schemas/ids.ts";
import { type Modes, narrower } from "../../../schemas/modes.ts";
import type { MoveOffer } from "../../../schemas/move.ts";
import { createdBy, modeCap, needGrant, originOf, settleModes } from "../access.ts";
import { measuredDigest } from "../digest.ts";
import { keepHistory } from "../imported-history.ts";
import { needThread, type PlanContext } from "../plan.ts";
import type { Arrival } from "../ports/moving-code.ts";
import { Refused, refuse } from "../refused.ts";
import { bury, isBuried } from "../tombstones.ts";
import { asMove, threadFrom } from "../typed-actors.ts";
import { blankThread, needProvider, ownWorkspace } from "./thread-create.ts";
import { queueRun } from "./thread-send.ts";

/**
 * Makes a peer's thread live here: its history, its queued messages and its continuation, in the commit that answers. That
 * commit is the decision (links.md, Moves). Throws Refused, and then nothing of it is here.
 */
export function acceptOffer(context: PlanContext, offer: MoveOffer): { threadId: ThreadId; runIds: RunId[]; left: string[] } {
  const origin = originOf(context, null);
  if (origin === null) refuse("capability_denied", "not_granted", "only a link can ask this", "Move the thread with thread.move.");
  const threadId = importThreadId(origin.environmentId, offer.sourceThreadId, offer.moveId);
  const known = context.overlay.importDigest(threadId);
  if (isBuried(known)) refuse("invalid_request", "move_taken_back", `${offer.moveId} was taken back before it arrived`, "Move it again.");
  // Asked under another request id: what was decided stands.
  if (threadFrom(context.overlay, threadId)?.movedFrom?.moveId === offer.moveId) return { threadId, runIds: [], left: [] };
  if (known !== null)
    refuse("idempotency_conflict", "thread_exists", `${threadId} was imported here under this move's id`, "Move it again.", { threadId });
  needGrant(context, "move");
  if (offer.provider !== null) needProvider(context, offer.provider);
  const projectId = projectFor(context, offer);
  const arrival = arrivalOf(context, threadId, offer);
  makeThread(context, threadId, projectId, offer, origin, arrival);
  if (arrival !== null) settle(context, threadId, offer, false);
  return { threadId, runIds: startWaiting(context, threadId, offer), left: arrival?.left ?? [] };
}

/** Nothing of it comes to live here any more; or it does already. */
export function abortArrival(context: PlanContext, move: { moveId: MoveOffer["moveId"]; sourceThreadId: ThreadId }) {
  const { caller } = context;
  if (caller.kind !== "link") refuse("capability_denied", "not_granted", "only a link can ask this", "Cancel it where it began.");
  const threadId = importThreadId(caller.environmentId, move.sourceThreadId, move.moveId);
  if (threadFrom(context.overlay, threadId)?.movedFrom?.moveId === move.moveId) return { outcome: "accepted", threadId } as const;
  bury(context.overlay, threadId);
  return { outcome: "aborted", threadId } as const;
}

/** An offer that was refused stays so, whoever comes with it again. */
export function buryOffer(context: PlanContext, offer: MoveOffer): void {
  const { caller } = context;
  if (caller.kind !== "link") return;
  const threadId = importThreadId(caller.environmentId, offer.sourceThreadId, offer.moveId);
  bury(context.overlay, threadId);
  if (context.facts.get(threadId)?.arrival?.ok === true) settle(context, threadId, offer, true);
}

/** The folder that was prepared for its code, before this; null where none came. */
function arrivalOf(context: PlanContext, threadId: ThreadId, offer: MoveOffer): Extract<Arrival, { ok: true }> | null {
  if (offer.code === null) return null;
  const arrival = context.facts.get(threadId)?.arrival;
  if (arrival === undefined)
    refuse(
      "invalid_request",
      "project_missing",
      `the repository ${offer.repository?.value ?? ""} is not known here`,
      "Clone it there and add it with ropewalk project add, or move the conversation alone with --without-code.",
    );
  if (!arrival.ok) throw new Refused(arrival.refusal);
  return arrival;
}

function settle(context: PlanContext, threadId: ThreadId, { code, repository }: MoveOffer, undo: boolean): void {
  const projectId = projectWith(context, repository);
  if (code === null || projectId === null) return;
  const { branch, head } = code;
  context.overlay.addEffect({
    id: context.uow.ids.next("effect"),
    request: { kind: "move.settle", policy: "repeatable", threadId, projectId, branch, head, undo },
  });
}

function makeThread(
  context: PlanContext,
  threadId: ThreadId,
  projectId: ProjectId,
  offer: MoveOffer,
  origin: NonNullable<ReturnType<typeof originOf>>,
  arrival: { path: string } | null,
): void {
  const hasHistory = offer.messages.length > 0;
  const checkpointId = context.uow.ids.next("checkpoint");
  const source = { environmentId: origin.environmentId, threadId: offer.sourceThreadId };
  context.uow.create(threadId, {
    type: "thread.created",
    input: {
      ...blankThread(threadId),
      projectId,
      title: offer.title,
      historyOrigin: "v1_import",
      importedFrom: { ...source, handoffId: offer.moveId },
      movedFrom: { ...source, moveId: offer.moveId },
      modes: modesOf(context, offer),
      workspace: arrival === null ? ownWorkspace(context, { projectId }) : { strategy: "worktree", path: arrival.path },
      preferred: offer.provider === null ? null : { provider: offer.provider, afterOrdinal: 0 },
      linkOrigin: origin,
      latestStable: hasHistory ? { runId: null, ordinal: 0, checkpointId } : null,
      createdBy: createdBy(context.caller),
    },
  });
  context.overlay.putImport(threadId, measuredDigest(offer).digest);
  if (hasHistory) keepHistory(context, threadId, checkpointId, offer.messages);
}

/** Within the peer's grant; of a thread that comes home, also within what it had when it left. */
function modesOf(context: PlanContext, offer: MoveOffer): Modes {
  const modes = settleModes({}, offer.modes, modeCap(context, "move"));
  const left = context.overlay.actorsBy({ kind: "move", peer: offer.sourceThreadId, statuses: ["departed"] }).map(asMove);
  const mine = left.find((move) => context.caller.kind === "link" && move.environmentId === context.caller.environmentId);
  const before = mine === undefined ? null : threadFrom(context.overlay, mine.threadId);
  return before === null ? modes : narrower(modes, before.modes);
}

function projectFor(context: PlanContext, { repository }: MoveOffer): ProjectId {
  return projectWith(context, repository) ?? context.scratch.projectId;
}

/** The project of this environment that is the same repository (contract §2); null: there is none. */
export function projectWith({ overlay }: PlanContext, repository: MoveOffer["repository"]): ProjectId | null {
  if (repository === null) return null;
  const same = overlay.projects().find((p) => p.repository?.kind === repository.kind && p.repository.value === repository.value);
  return same?.id ?? null;
}

/** Messages that had waited there, in their order, then what to go on with. */
function startWaiting(context: PlanContext, threadId: ThreadId, offer: MoveOffer): RunId[] {
  const next = offer.continuationPrompt === null ? [] : [{ text: offer.continuationPrompt, provider: null, modes: offer.modes }];
  return [...offer.queued, ...next].map(({ text, provider, modes }) => {
    const thread = needThread(context, threadId);
    // A message that named an agent that is not here is served by whoever serves the thread.
    const requested = provider !== null && context.settings.hasProvider(provider.instance) ? provider : null;
    return queueRun(context, thread, {
      content: { text },
      requested,
      modes: narrower(modes, thread.modes),
      createdBy: createdBy(context.caller),
    }).runId;
  });
}
