import type { EnvironmentId } from "../../../schemas/ids.ts";
import type { RetentionView } from "../../../schemas/retention.ts";
import type { Health } from "../environment-api.ts";
import type { Store } from "../ports/store.ts";

/** What a person should know about an environment's store; `dir` is the environment's folder. */
export function healthReads(
  store: Store & { readonly previousIncarnation: string | null },
  environmentId: EnvironmentId,
  dir: string,
  retention: () => RetentionView,
): () => Health {
  return () => ({
    environmentId,
    dir,
    incarnation: store.incarnation,
    isNewIncarnation: store.previousIncarnation !== null,
    commits: store.lastCommit,
    counts: Object.fromEntries(
      (["thread", "run", "transfer", "task", "link", "move"] as const).map((kind) => [kind, store.countActors(kind)]),
    ) as never,
    setAside: store.setAside(),
    effectsSetAside: store.effectsSetAside().map((e) => ({ id: e.id, kind: e.request.kind, note: e.note })),
    retention: retention(),
  });
}
