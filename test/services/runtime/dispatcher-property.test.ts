import fc from "fast-check";
import { expect, test } from "vitest";
import type { PublicCommand } from "../../../schemas/command.ts";
import type { CommandId, ThreadId } from "../../../schemas/ids.ts";
import type { Store } from "../../../services/runtime/ports/store.ts";
import { openMemoryStore } from "../../../services/store/sqlite-store.ts";
import { ids } from "../../support/commit-batches.ts";
import { type DispatcherRig, dispatcherRig } from "../../support/dispatcher-rig.ts";

/** A command to one of three threads that are there from the start; many are refused, some after they got half-way. */
type Op = (threads: ThreadId[]) => PublicCommand;

const at = (threads: ThreadId[], i: number) => threads[i % threads.length] as ThreadId;
const thread = fc.nat(2);
const ops: fc.Arbitrary<Op> = fc.oneof(
  fc.string({ maxLength: 5 }).map(
    (title): Op =>
      () => ({ type: "thread.create", title }),
  ),
  fc.tuple(thread, fc.string({ maxLength: 5 })).map(
    ([i, title]): Op =>
      (t) => ({ type: "thread.rename", threadId: at(t, i), title }),
  ),
  thread.map(
    (i): Op =>
      (t) => ({ type: "thread.send", threadId: at(t, i), text: "hello" }),
  ),
  thread.map(
    (i): Op =>
      (t) => ({ type: "thread.interrupt", threadId: at(t, i) }),
  ),
  thread.map(
    (i): Op =>
      (t) => ({ type: "thread.delete", threadId: at(t, i) }),
  ),
  thread.map(
    (i): Op =>
      (t) => ({ type: "task.spawn", parentThreadId: at(t, i), prompt: "task" }),
  ),
  // Refused when the task is made and its parent told, since there is no such link.
  thread.map(
    (i): Op =>
      (t) => ({
        type: "task.spawn",
        parentThreadId: at(t, i),
        prompt: "far",
        environmentId: "env:00000000-0000-7000-8000-000000000000" as never,
      }),
  ),
  thread.map(
    (i): Op =>
      (t) => ({ type: "thread.fork", threadId: at(t, i), at: { kind: "latest_stable" } }),
  ),
  thread.map(
    (i): Op =>
      (t) => ({ type: "thread.switch", threadId: at(t, i), provider: { instance: i === 0 ? "unknown" : "p1", model: null } }),
  ),
  // The same key with two payloads: the first makes a thread and blobs, the other is a conflict.
  fc.tuple(fc.nat(1), fc.nat(1), fc.boolean()).map(
    ([key, payload, long]): Op =>
      () =>
        importOf(`h${key}`, `payload ${payload}${long ? "x".repeat(20_000) : ""}`),
  ),
);

function importOf(handoffId: string, text: string): PublicCommand {
  const messages = [{ role: "user" as const, text, createdAt: 5 }];
  return {
    type: "thread.import",
    import: { handoffId, sourceEnvironmentId: "e", sourceThreadId: "s", messages, continuationPrompt: "go on" },
  };
}

/** A store with three threads, and the commands dispatched at once. */
async function after(commands: { id: CommandId; op: Op }[]): Promise<{ rig: DispatcherRig; accepted: Set<CommandId> }> {
  const rig = dispatcherRig(openMemoryStore(), { clock: { now: () => 1_000, after: () => () => {} } });
  const threads = [await rig.newThread("0"), await rig.newThread("1"), await rig.newThread("2")];
  const receipts = await Promise.all(commands.map(({ id, op }) => rig.send(op(threads), id)));
  return { rig, accepted: new Set(receipts.filter((r) => r.ok).map((r) => r.commandId)) };
}

/** All that is to be seen of a store, with each random id replaced by its place in the order of appearance. */
function contents(store: Store, accepted: Set<CommandId>): string {
  const kinds = ["thread", "run", "transfer", "task"] as const;
  const actors = kinds.flatMap((kind) => store.actorsBy({ kind }));
  const all = {
    actors,
    found: actors.flatMap((a) => kinds.map((kind) => [store.countBy({ kind, owner: a.id }), store.countBy({ kind, peer: a.id })])),
    journal: store.journal({ limit: 10_000 }),
    items: store.itemsAfterCommit(0, 10_000),
    checkpoints: actors.filter((a) => a.kind === "thread").flatMap((a) => store.checkpointsOf(a.id as ThreadId)),
    effects: store.openEffects(),
    receipts: [...accepted].map((id) => store.receipt(id)?.response),
  };
  const names = new Map<string, string>();
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  return JSON.stringify(all, null, 1).replace(uuid, (id) => {
    const name = names.get(id) ?? `#${names.size}`;
    names.set(id, name);
    return name;
  });
}

test("a batch with refused commands in any place leaves exactly what the accepted ones alone leave", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(ops, { minLength: 1, maxLength: 25 }), async (drawn) => {
      const commands = drawn.map((op) => ({ op, id: ids.next("cmd") }));
      const mixed = await after(commands);
      const alone = await after(commands.filter((c) => mixed.accepted.has(c.id)));
      expect(alone.accepted).toEqual(mixed.accepted);
      expect(contents(mixed.rig.store, mixed.accepted)).toEqual(contents(alone.rig.store, mixed.accepted));
      mixed.rig.store.close();
      alone.rig.store.close();
    }),
    { numRuns: 100 },
  );
});

test("commands one by one leave what the same commands leave in one batch, but for the numbers of their commits", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(ops, { minLength: 1, maxLength: 12 }), async (drawn) => {
      const commands = drawn.map((op) => ({ op, id: ids.next("cmd") }));
      const together = await after(commands);
      const single = await after([]);
      const threads = single.rig.store.actorsBy({ kind: "thread" }).map((t) => t.id as ThreadId);
      const accepted = new Set<CommandId>();
      for (const { id, op } of commands) if ((await single.rig.send(op(threads), id)).ok) accepted.add(id);
      expect(accepted).toEqual(together.accepted);
      const withoutNumbers = (text: string) => text.replace(/"(commit|index|ordinal)": \d+/g, '"$1": 0');
      expect(withoutNumbers(contents(single.rig.store, accepted))).toEqual(withoutNumbers(contents(together.rig.store, accepted)));
      together.rig.store.close();
      single.rig.store.close();
    }),
    { numRuns: 40 },
  );
});
