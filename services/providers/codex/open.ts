import { abortable } from "../abortable.ts";
import type { OpenSession } from "../contract.ts";
import { failure, isHeld, openFailure, RpcError } from "./failure.ts";
import { turnNamed } from "./history.ts";
import { type Policy, policyOf, requirePolicy } from "./modes.ts";
import type { OpenedThread } from "./protocol.ts";
import { rewindThread } from "./rewind.ts";
import type { Connection } from "./server.ts";

/** Another process that is just ending still holds the writer lock for a moment, and so does this one that lets go of it. */
const lockTries = 10;
const lockPauseMs = 300;

/**
 * Loads the native thread that `request` asks for, and takes it back where it is to be. Rejects with a `ProviderFailure`;
 * `openFailed` when Codex refuses this fork, this rewind, or does not have this thread. A thread that is loaded although nobody waits for it any more is let go.
 */
export async function openThread(
  connection: Connection,
  request: OpenSession,
  model: string | null,
  signal: AbortSignal,
): Promise<OpenedThread> {
  const policy = policyOf(request.modes);
  const aborted = () => failure("open_aborted", "Opening the conversation was given up.", "Send again.");
  const letGo = ({ thread }: OpenedThread) => connection.peer.request("thread/unsubscribe", { threadId: thread.id });
  const opening = load(connection, request, { cwd: request.cwd, ...policy, ...(model !== null && { model }) }, signal);
  try {
    const opened = await abortable(opening, signal, aborted, letGo);
    await requireUsable(policy, opened, () => letGo(opened));
    if (request.kind === "resume" && request.rewind !== undefined) {
      const back = rewindThread(connection.peer, opened.thread.id, request.rewind).catch(async (cause: unknown) => {
        await letGo(opened).catch(() => undefined);
        throw cause;
      });
      await abortable(back, signal, aborted, () => letGo(opened));
    }
    return opened;
  } catch (cause) {
    throw openFailure(request.kind, cause);
  }
}

async function load(
  connection: Connection,
  request: OpenSession,
  common: Record<string, unknown>,
  signal: AbortSignal,
): Promise<OpenedThread> {
  const { peer } = connection;
  if (request.kind === "new") return peer.request("thread/start", { ...common, historyMode: "paginated" });
  const existing = { ...common, threadId: request.nativeRef.id, excludeTurns: true };
  if (request.kind === "fork") {
    const { id, strength } = request.turnRef;
    const lastTurnId = strength === "strong" ? id : await turnNamed(peer, request.nativeRef.id, id);
    return peer.request("thread/fork", { ...existing, lastTurnId });
  }
  for (let tries = 1; ; tries++) {
    try {
      return await peer.request("thread/resume", existing);
    } catch (cause) {
      if (!(cause instanceof RpcError) || !isHeld(cause) || tries >= lockTries || signal.aborted) throw cause;
    }
    await connection.pause(lockPauseMs);
  }
}

async function requireUsable(policy: Policy, opened: OpenedThread, letGo: () => Promise<unknown>): Promise<void> {
  try {
    requirePolicy(policy, opened);
    if (opened.thread.status?.type === "active") {
      throw failure("native_thread_in_use", "A turn of this conversation is running.", "Wait for its end, then send again.");
    }
  } catch (cause) {
    await letGo().catch(() => undefined);
    throw cause;
  }
}
