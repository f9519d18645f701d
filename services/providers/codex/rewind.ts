import type { TurnName } from "../../../schemas/provider.ts";
import { ProviderFailure, type Rewind } from "../contract.ts";
import { failure, RpcError } from "./failure.ts";
import { hasInput, newestTurns } from "./history.ts";
import type { CodexTurn } from "./protocol.ts";
import type { RpcPeer } from "./rpc.ts";

/**
 * Takes a loaded thread back by `thread/revert`, which cuts off everything from one turn on. Its answer is not believed: the
 * turns are read again. Repeatable: what is gone already needs no revert. Rejects with a `ProviderFailure` that is
 * `rewindRefused` where Codex will not (a legacy thread can only be forked), where the turn that is to stay is not there,
 * or where a turn that is not ours would go too.
 */
export async function rewindThread(peer: RpcPeer, threadId: string, rewind: Rewind): Promise<void> {
  try {
    await revert(peer, threadId, rewind);
  } catch (cause) {
    if (cause instanceof RpcError) throw refused(`Codex: ${cause.message}`, cause);
    if (cause instanceof ProviderFailure && cause.refusal.reason === "history_too_long") throw refused(cause.message, cause);
    throw cause;
  }
}

async function revert(peer: RpcPeer, threadId: string, rewind: Rewind): Promise<void> {
  const beforeTurnId = await firstToGo(peer, threadId, rewind);
  if (beforeTurnId === null) return;
  await peer.request("thread/revert", { threadId, beforeTurnId });
  if ((await firstToGo(peer, threadId, rewind)) !== null) throw refused("Codex said that it took the conversation back, and has not.");
}

/** The oldest of the turns that are to go; null when none is there. Turn ids are looked for in this thread only: forks share them. */
async function firstToGo(peer: RpcPeer, threadId: string, { keep, drop }: Rewind): Promise<string | null> {
  const [ids, inputs] = [namesOf(drop, "turnRef"), namesOf(drop, "attemptId")];
  let oldest: string | null = null;
  let stranger: string | null = null;
  for await (const turn of newestTurns(peer, threadId)) {
    if (isNamed(turn, keep)) return oldest;
    if (ids.has(turn.id) || givenInputs(turn).some((input) => inputs.has(input))) {
      if (stranger !== null) throw refused(`The turn ${stranger} was not started here, and is newer than what is to be taken back.`);
      oldest = turn.id;
    } else if (hasUserMessage(turn)) stranger ??= turn.id;
  }
  throw refused("The native conversation has no turn for the point that it is to be taken back to.");
}

function namesOf(drop: readonly TurnName[], by: "turnRef" | "attemptId"): ReadonlySet<string> {
  const names = drop.map((name) => (by === "turnRef" ? name.turnRef?.id : name.attemptId));
  return new Set(names.filter((name): name is string => name != null));
}

function isNamed(turn: CodexTurn, { turnRef, attemptId }: TurnName): boolean {
  return turn.id === turnRef?.id || (attemptId !== null && hasInput(turn, attemptId));
}

const userMessages = (turn: CodexTurn) => (turn.items ?? []).filter((item) => item.type === "userMessage");
const givenInputs = (turn: CodexTurn) => userMessages(turn).flatMap(({ clientId }) => (typeof clientId === "string" ? [clientId] : []));
/** Without one it is Codex's own work (a compaction), which goes with what it was about. */
const hasUserMessage = (turn: CodexTurn) => userMessages(turn).length > 0;

function refused(message: string, cause?: unknown): ProviderFailure {
  return failure("native_rewind_refused", message, "Send again: the conversation is then forked, or told to a new one.", {
    rewindRefused: true,
    cause,
  });
}
