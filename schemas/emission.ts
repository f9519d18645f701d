import type { EffectRequest } from "./effect.ts";
import type { Unstamped } from "./events/common.ts";
import type { LinkEvent } from "./events/link.ts";
import type { MoveEvent } from "./events/move.ts";
import type { RunEvent } from "./events/run.ts";
import type { TaskEvent } from "./events/task.ts";
import type { ThreadEvent } from "./events/thread.ts";
import type { TransferEvent } from "./events/transfer.ts";
import type { EnvironmentId, LinkId, MoveId, RequestId, RunId, TaskId, ThreadId, TransferId } from "./ids.ts";
import type { Content } from "./item.ts";
import type { TransferInput } from "./transfer.ts";
import type { LinkNotice, LinkRequest } from "./wire.ts";

/** A message to one actor of this environment, delivered in the same commit. */
export type Tell =
  | { to: ThreadId; event: Unstamped<ThreadEvent> }
  | { to: RunId; event: Unstamped<RunEvent> }
  | { to: TransferId; event: Unstamped<TransferEvent> }
  | { to: TaskId; event: Unstamped<TaskEvent> }
  | { to: LinkId; event: Unstamped<LinkEvent> }
  | { to: MoveId; event: Unstamped<MoveEvent> };

/** A notice whose text is still a reference where it is large; the runtime reads it when it writes the outbox. */
export type OutgoingNotice =
  | Extract<LinkNotice, { kind: "task.started" }>
  | (Omit<Extract<LinkNotice, { kind: "task.result" }>, "text"> & { result: Content | null });

/**
 * What a transition says must happen besides its own new state, as data. All of it is carried out in the commit of the
 * command that caused it: messages are delivered in order until none is left, effects and outgoing messages are stored.
 */
export type Emission =
  | ({ type: "tell" } & Tell)
  | { type: "create.transfer"; input: Omit<TransferInput, "id"> & { id: TransferId } }
  | { type: "effect"; request: EffectRequest }
  | { type: "link.notice"; to: EnvironmentId; notice: OutgoingNotice }
  | { type: "link.request"; to: EnvironmentId; requestId: RequestId; request: LinkRequest };
