import type { ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import type { LiveSource } from "./live.ts";
import { ThreadChanges } from "./thread-changes.ts";
import { Unfinished } from "./unfinished.ts";

/** What changes of a thread's view after a commit, its unfinished text with it. */
export function threadSource(environment: Environment, id: ThreadId, after: number): LiveSource {
  const changes = new ThreadChanges(environment, id, after);
  const unfinished = new Unfinished(environment, id);
  return {
    get commit() {
      return changes.commit;
    },
    get isWriting() {
      return unfinished.isOpen;
    },
    step: () => changes.step(),
    patch() {
      const patch = changes.patch();
      if (patch === "behind") return patch;
      const text = unfinished.change();
      return text === undefined ? patch : { ...(patch ?? { commit: changes.commit }), unfinished: text };
    },
  };
}
