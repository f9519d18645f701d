import type { ThreadBundle } from "../../../schemas/bundle.ts";
import { bundleFormat, bundleVersion } from "../../../schemas/bundle.ts";
import type { EnvironmentId, ThreadId } from "../../../schemas/ids.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { threadFrom } from "../typed-actors.ts";
import { packageVersion } from "../version.ts";
import { gather } from "./gather.ts";
import { sealedBundle } from "./text.ts";

/** A thread as a bundle, read at one commit; null for one that is not there or was deleted. */
export function exportThread(
  store: Store,
  about: { environmentId: EnvironmentId; environmentName: string; clock: Clock },
  threadId: ThreadId,
): ThreadBundle | null {
  const thread = threadFrom(store, threadId);
  const gathered = gather(store, about.environmentId, threadId);
  if (thread === null || thread.status === "deleted" || gathered === null) return null;
  const { records, parts, unfinishedRuns } = gathered;
  return sealedBundle(
    {
      format: bundleFormat,
      version: bundleVersion,
      ropewalk: packageVersion(),
      environmentId: about.environmentId,
      environmentName: about.environmentName,
      threadId,
      exportedAt: about.clock.now(),
      modes: thread.modes,
      parts,
      unfinishedRuns,
      providerThreads: store.providerThreadsOf(threadId),
    },
    records,
  );
}
