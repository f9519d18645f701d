import { EnvironmentRefused, EnvironmentUnreachable } from "./failures.ts";
import { linesOf, pause, retryMs, silenceMs } from "./follow.ts";
import type { Answered, Transport } from "./transport.ts";

type Line<P> = ({ type: "patch" } & P) | { type: "synchronized" | "heartbeat" | "resnapshot"; commit: number };

/** One kind of view: where it is read and followed, and how a patch changes it. */
export type ViewKind<V extends { commit: number }, P extends { commit: number }> = {
  snapshot(): Promise<V>;
  /** Path of the live connection, without its query. */
  livePath: string;
  apply(view: V, patch: P): V;
};

export type FollowViewOptions = {
  signal?: AbortSignal;
  /** How long a connection that broke off is looked for again; default 10 s. */
  patienceMs?: number;
  /** Told when nobody listens any more, and when all that was committed meanwhile has been given out again. */
  onConnection?: (state: "lost" | "live") => void;
};

/** One that has been away for longer is asked for less often. */
const soonMs = 10_000;
const lateRetryMs = 1_000;

/**
 * A view, whole, and again after everything that changes it, without end: a connection that breaks goes on where it was, and
 * where that cannot be (too far behind, another store), from a new snapshot. Ends by `signal`, or with
 * {@link EnvironmentUnreachable} when nobody listens any more.
 */
export async function* followView<V extends { commit: number }, P extends { commit: number }>(
  transport: Transport,
  check: (answered: Answered) => Promise<void>,
  kind: ViewKind<V, P>,
  { signal, patienceMs = 10_000, onConnection = () => {} }: FollowViewOptions = {},
): AsyncGenerator<V> {
  let view: V | null = null;
  let lost: number | null = null;
  while (signal?.aborted !== true) {
    try {
      if (view === null) {
        view = await kind.snapshot();
        yield view;
      }
      const path = `${kind.livePath}?after=${view.commit}`;
      const answered = await transport.call({ method: "GET", path, timeoutMs: silenceMs, signal }, true);
      await check(answered);
      lost = null;
      for await (const line of linesOf<Line<P>>(answered)) {
        if (line.type === "resnapshot") view = null;
        if (view === null) break;
        view = line.type === "patch" ? kind.apply(view, line) : { ...view, commit: line.commit };
        if (line.type === "patch") yield view;
        if (line.type === "synchronized") onConnection("live");
      }
      if (view === null) continue;
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof EnvironmentRefused && error.refusal.reason === "ahead_of_store") view = null;
      else if (!(error instanceof EnvironmentUnreachable)) throw error;
      if (lost === null) onConnection("lost");
      lost ??= performance.now();
      if (performance.now() - lost > patienceMs) throw error;
    }
    await pause(lost !== null && performance.now() - lost > soonMs ? lateRetryMs : retryMs, signal);
  }
}
