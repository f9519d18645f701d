import type { RunEnding } from "../../../schemas/run.ts";
import type { LookupAnswer, LookupQuery } from "../contract.ts";
import { failure, RpcError } from "./failure.ts";
import type { CodexTurn, ThreadsPage, TurnsPage } from "./protocol.ts";
import type { RpcPeer } from "./rpc.ts";

const turnsPerPage = 20;
const maxTurnPages = 500;
const threadsSearched = 50;

/** A thread's turns, the newest first. Rejects when the list is longer than we read. */
export async function* newestTurns(peer: RpcPeer, threadId: string): AsyncGenerator<CodexTurn> {
  let cursor: string | null = null;
  for (let page = 0; page < maxTurnPages; page++) {
    const params: Record<string, unknown> = { threadId, sortDirection: "desc", itemsView: "full", limit: turnsPerPage, cursor };
    const { data, nextCursor }: TurnsPage = await peer.request<TurnsPage>("thread/turns/list", params);
    yield* data;
    if (!nextCursor) return;
    cursor = nextCursor;
  }
  throw failure("history_too_long", "The native conversation is too long to look a turn up.", "Nothing to do.");
}

/** The newest turn that `matches`, or null when the whole list is known and none does. */
async function findTurn(peer: RpcPeer, threadId: string, matches: (turn: CodexTurn) => boolean): Promise<CodexTurn | null> {
  for await (const turn of newestTurns(peer, threadId)) if (matches(turn)) return turn;
  return null;
}

export function hasInput(turn: CodexTurn, messageId: string): boolean {
  return turn.items?.some((item) => item.type === "userMessage" && item.clientId === messageId) ?? false;
}

/**
 * The native turn that `ref` names: its id, or the id of the message (ours) that it was given (decision 36).
 * Rejects with a `ProviderFailure` that is `openFailed` when the conversation has no such turn.
 */
export async function turnNamed(peer: RpcPeer, threadId: string, ref: string): Promise<string> {
  const found = await findTurn(peer, threadId, (turn) => turn.id === ref || hasInput(turn, ref));
  if (found) return found.id;
  throw failure(
    "native_turn_not_found",
    "The native conversation has no turn for this point.",
    "Send again: the history is then told instead.",
    {
      openFailed: true,
    },
  );
}

/**
 * What became of an input. Codex records it before it asks the model, so a conversation that is there and does not have it
 * was not given it. One that is not there may have been deleted, or never got far enough to be kept: not known.
 */
export async function lookUp(peer: RpcPeer, { nativeRef, attemptId, cwd }: LookupQuery): Promise<LookupAnswer> {
  const threads = nativeRef ? [nativeRef.id] : await newestThreads(peer, cwd);
  for (const threadId of threads) {
    const turn = await turnWithInput(peer, threadId, attemptId);
    if (turn === "no such thread") continue;
    if (turn) {
      return {
        outcome: "accepted",
        nativeRef: { id: threadId, strength: "strong" },
        turnRef: { id: turn.id, strength: "strong" },
        ending: endingOf[turn.status] ?? null,
      };
    }
    if (nativeRef) return { outcome: "absent" };
  }
  return { outcome: "unknown" };
}

const endingOf: Record<string, RunEnding> = { completed: "completed", interrupted: "interrupted", failed: "failed" };

async function turnWithInput(peer: RpcPeer, threadId: string, messageId: string): Promise<CodexTurn | null | "no such thread"> {
  try {
    return await findTurn(peer, threadId, (turn) => hasInput(turn, messageId));
  } catch (cause) {
    if (cause instanceof RpcError) return "no such thread";
    throw cause;
  }
}

/** Without a native ref: the conversation that the input made is among the newest of its folder, if it is anywhere. */
async function newestThreads(peer: RpcPeer, cwd: string): Promise<string[]> {
  const params = { cwd, limit: threadsSearched, sortDirection: "desc", modelProviders: [] };
  const { data } = await peer.request<ThreadsPage>("thread/list", params);
  return data.map(({ id }) => id);
}
