import { existsSync } from "node:fs";
import type { ThreadId } from "../../schemas/ids.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { type OpenConversation, type OpenSession, type ProviderAdapter, ProviderFailure, type ProviderSession } from "./contract.ts";
import { within } from "./within.ts";

/** How long a provider may take to let go of a conversation. */
const detachMs = 20_000;

/** How a conversation was opened; a message with other modes or another model needs it opened anew. */
type OpenedAs = Pick<OpenSession, "cwd" | "model" | "modes">;
type Live = OpenedAs & { instance: string; session: ProviderSession };

export type SessionRequest = OpenedAs & { threadId: ThreadId; instance: string; open: OpenConversation };

/**
 * The native conversations that are open in this process: at most one per thread. Another provider's is let go of before
 * the next is opened, and one that would not let go stays known, so that no second writer is opened beside it (case H02).
 */
export class LiveSessions {
  readonly #adapters: ReadonlyMap<string, ProviderAdapter>;
  readonly #clock: Clock;
  readonly #live = new Map<ThreadId, Live>();
  readonly #leaving = new Map<ThreadId, Promise<void>>();

  constructor(adapters: ReadonlyMap<string, ProviderAdapter>, clock: Clock) {
    this.#adapters = adapters;
    this.#clock = clock;
  }

  /** The thread's conversation as the plan wants it. `reused` tells that it was open already. */
  async take(request: SessionRequest, signal: AbortSignal): Promise<{ session: ProviderSession; reused: boolean }> {
    await this.#leaving.get(request.threadId);
    // Also where the conversation is open already: its process would work in a folder that is not there (case R02).
    if (!existsSync(request.cwd))
      throw new ProviderFailure(
        refusal(
          "invalid_request",
          "workspace_missing",
          `the folder ${request.cwd} is not there any more`,
          "Bring it back, or go on in a fork.",
        ),
      );
    const live = this.#live.get(request.threadId);
    if (live !== undefined) {
      if (isAsWanted(live, request)) return { session: live.session, reused: true };
      await this.#detach(request.threadId, live);
    }
    const adapter = this.#adapters.get(request.instance);
    if (adapter === undefined)
      throw new ProviderFailure(
        refusal(
          "provider_unavailable",
          "unknown_instance",
          `there is no provider instance "${request.instance}"`,
          "Choose one that is configured.",
        ),
      );
    const { cwd, model, modes, instance, threadId } = request;
    const session = await unlessAborted(adapter.open({ cwd, model, modes, threadId, ...request.open }, signal), signal);
    this.#live.set(threadId, { cwd, model, modes, instance, session });
    return { session, reused: false };
  }

  /** Lets go of a thread's conversation, so that the next run opens it anew; the next `take` waits for it. */
  forget(threadId: ThreadId): Promise<void> {
    const live = this.#live.get(threadId);
    const before = this.#leaving.get(threadId);
    if (before !== undefined) return before;
    if (live === undefined) return Promise.resolve();
    const leaving = this.#letGo(live)
      .then(
        () => void this.#live.delete(threadId),
        () => {},
      )
      .finally(() => this.#leaving.delete(threadId));
    this.#leaving.set(threadId, leaving);
    return leaving;
  }

  /** Whether a thread's conversation is open in this process. */
  has(threadId: ThreadId): boolean {
    return this.#live.has(threadId);
  }

  /** Whose conversations are open. */
  threads(): ThreadId[] {
    return [...this.#live.keys()];
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#live.values()].map((live) => this.#letGo(live)));
  }

  /** Bounded: a provider that hangs keeps nobody else waiting. */
  #letGo(live: Live): Promise<void> {
    return within(this.#clock, detachMs, live.session.detach(), () => {
      throw new Error(`nothing was heard of it for ${detachMs / 1_000} s`);
    });
  }

  async #detach(threadId: ThreadId, live: Live): Promise<void> {
    try {
      await this.#letGo(live);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ProviderFailure(
        refusal("provider_unavailable", "detach_failed", `${live.instance} did not let go of the conversation: ${why}`, "Send again."),
        { cause },
      );
    }
    this.#live.delete(threadId);
  }
}

function isAsWanted(live: Live, wanted: SessionRequest): boolean {
  return (
    live.instance === wanted.instance &&
    wanted.open.kind === "resume" &&
    // One that is to be taken back is opened anew for it.
    wanted.open.rewind === undefined &&
    wanted.open.nativeRef.id === live.session.nativeRef.id &&
    live.cwd === wanted.cwd &&
    live.model === wanted.model &&
    live.modes.runtimeMode === wanted.modes.runtimeMode &&
    live.modes.interactionMode === wanted.modes.interactionMode
  );
}

/** An open that goes on although it was given up is let go of as soon as it is there (case R03). */
function unlessAborted(opening: Promise<ProviderSession>, signal: AbortSignal): Promise<ProviderSession> {
  return new Promise((resolve, reject) => {
    const giveUp = () =>
      reject(new ProviderFailure(refusal("provider_unavailable", "open_aborted", "opening the conversation was given up", "Send again.")));
    signal.addEventListener("abort", giveUp, { once: true });
    opening.then(
      (session) => {
        signal.removeEventListener("abort", giveUp);
        if (signal.aborted) void session.detach().catch(() => {});
        else resolve(session);
      },
      (error) => {
        signal.removeEventListener("abort", giveUp);
        reject(error);
      },
    );
  });
}
