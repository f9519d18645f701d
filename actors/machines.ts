import { LinkEvent } from "../schemas/events/link.ts";
import { MoveEvent } from "../schemas/events/move.ts";
import { RunEvent } from "../schemas/events/run.ts";
import { TaskEvent } from "../schemas/events/task.ts";
import { ThreadEvent } from "../schemas/events/thread.ts";
import { TransferEvent } from "../schemas/events/transfer.ts";
import type { ActorKind } from "../schemas/ids.ts";
import { linkMachine } from "./link.ts";
import { moveMachine } from "./move.ts";
import { runMachine } from "./run.ts";
import { taskMachine } from "./task.ts";
import { threadMachine } from "./thread.ts";
import { transferMachine } from "./transfer.ts";

/** Every machine by the kind of actor that it is the behaviour of. */
export const machines = {
  thread: threadMachine,
  run: runMachine,
  transfer: transferMachine,
  task: taskMachine,
  link: linkMachine,
  move: moveMachine,
} as const;

const typesOf = (schema: { options: readonly { shape: { type: { value: string } } }[] }) => schema.options.map((o) => o.shape.type.value);

/** Every event that each machine may be sent, from the schemas: what the legality table and the start-up lint are held against. */
export const eventTypes: Readonly<Record<ActorKind, readonly string[]>> = {
  thread: typesOf(ThreadEvent),
  run: typesOf(RunEvent),
  transfer: typesOf(TransferEvent),
  task: typesOf(TaskEvent),
  link: typesOf(LinkEvent),
  move: typesOf(MoveEvent),
};
