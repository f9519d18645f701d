import type { PublicCommand } from "../../../schemas/command.ts";
import type { ActorId } from "../../../schemas/ids.ts";
import type { DurableActorRef, DurableSnapshot } from "../environment-api.ts";
import { kernels } from "../kernels.ts";
import type { ActorRow, Store } from "../ports/store.ts";
import type { Commits } from "./commits.ts";

/** A durable actor in the shape of XState's ActorRef (decision 37): nothing is held in memory for it but this handle. */
export function durableActorRef(store: Store, commits: Commits, id: ActorId, send: (command: PublicCommand) => void): DurableActorRef {
  const row = () => {
    const found = store.actor(id);
    if (found === null) throw new Error(`there is no actor ${id}`);
    return found;
  };
  row();
  return {
    id,
    getSnapshot: () => snapshotOf(row()),
    subscribe(observer) {
      const next = typeof observer === "function" ? observer : observer.next;
      // A copy: the runtime keeps the row, and who listens may do as he likes.
      const stop = commits.onActor(id, (changed) => next?.(snapshotOf({ ...changed, context: structuredClone(changed.context) })));
      return { unsubscribe: stop };
    },
    send,
  };
}

function snapshotOf(row: ActorRow): DurableSnapshot {
  const snapshot = kernels[row.kind].machine.resolveState({ value: row.state, context: row.context } as never);
  return {
    status: snapshot.status === "done" ? "done" : "active",
    value: row.state,
    context: row.context,
    matches: (state) => snapshot.matches(nested(state) as never),
  };
}

/** `a.b` as the library wants it: `{a: "b"}`. */
function nested(path: string): unknown {
  const [head = "", ...rest] = path.split(".");
  return rest.length === 0 ? head : { [head]: nested(rest.join(".")) };
}
