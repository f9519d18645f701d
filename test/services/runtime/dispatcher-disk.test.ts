import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { PublicCommand, Receipt } from "../../../schemas/command.ts";
import type { CommandId } from "../../../schemas/ids.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import { openStore } from "../../../services/store/sqlite-store.ts";
import { ids } from "../../support/commit-batches.ts";
import { dispatcherRig } from "../../support/dispatcher-rig.ts";
import { temporaryFolder, until } from "../../support/environments.ts";
import { failingSync } from "../../support/failing-sync.ts";
import { noSmallDisk, smallDisk } from "../../support/small-disk.ts";

const create = (title: string): PublicCommand => ({ type: "thread.create", title });
const large = (handoffId: string): PublicCommand => ({
  type: "thread.import",
  import: {
    handoffId,
    sourceEnvironmentId: "e",
    sourceThreadId: "t",
    messages: Array.from({ length: 60 }, (_, i) => ({ role: "user", text: `${i} ${"x".repeat(15_000)}` })),
  },
});
const outcomes = (receipts: Receipt[]) => receipts.map((r) => (r.ok ? "ok" : `${r.refusal.code} ${r.refusal.reason}`));

describe.skipIf(noSmallDisk !== null)(`a full disk (${noSmallDisk ?? "as root"})`, () => {
  function rigOn(disk: ReturnType<typeof smallDisk>, clock = new MemoryClock()) {
    const store = openStore(disk.dir);
    onTestFinished(() => store.close());
    return { ...dispatcherRig(store, { clock }), clock };
  }

  test("discards a batch whole; alone, what fits is taken and what does not is refused with disk_full, and not stored", async () => {
    const disk = smallDisk(6_144);
    const r = rigOn(disk);
    await r.newThread();
    disk.fill(300 * 1_024);
    const commands = [create("a"), large("h1"), create("b"), large("h2"), create("c")].map((command) => ({ id: ids.next("cmd"), command }));
    const receipts = await Promise.all(commands.map(({ id, command }) => r.send(command, id)));
    const full = "orchestration_error disk_full";
    expect(outcomes(receipts)).toEqual(["ok", full, "ok", full, "ok"]);
    expect(receipts.map((x) => x.ok || x.refusal.hint !== "")).toEqual([true, true, true, true, true]);
    // Each alone: a commit each, and no trace of the others.
    expect(receipts.map((x) => (x.ok ? x.commit : null))).toEqual([2, null, 3, null, 4]);
    expect([r.store.countActors("thread"), r.store.itemsAfterCommit(0, 99), r.store.lastCommit]).toEqual([{ idle: 4 }, [], 4]);
    expect(commands.map(({ id }) => r.store.receipt(id) !== null)).toEqual([true, false, true, false, true]);

    disk.free();
    const again = await Promise.all(commands.map(({ id, command }) => r.send(command, id)));
    expect(again.map((x) => x.ok && x.repeated)).toEqual([true, false, true, false, true]);
    expect(r.store.itemsAfterCommit(0, 999)).toHaveLength(120);
    expect(r.fatal).toEqual([]);
  });

  test("holds what the outside has reported, in its order, and writes it once there is space", async () => {
    const disk = smallDisk(6_144);
    const r = rigOn(disk);
    const threadId = await r.newThread();
    await r.send({ type: "thread.send", threadId, text: "hello" });
    const [effect] = r.store.openEffects();
    if (effect === undefined) throw new Error("no effect");
    disk.fill(60 * 1_024);
    const answered: string[] = [];
    const report = (name: string, note: string) =>
      r.report({ type: "effects.closed", effectIds: [effect.id], state: "set_aside", note }).then((x) => answered.push(`${name} ${x.ok}`));
    const reports = [report("first", "1".repeat(400_000)), report("second", "2")];
    // A command of a person is not held: it is told.
    expect(outcomes([await r.send(large("h"))])).toEqual(["orchestration_error disk_full"]);
    await r.clock.advance(3_000);
    expect(answered).toEqual([]);
    expect(r.store.openEffects()).toHaveLength(1);
    disk.free();
    await r.clock.advance(1_000);
    await Promise.all(reports);
    expect(answered).toEqual(["first true", "second true"]);
    expect(r.store.effectsSetAside().map((e) => e.note)).toEqual(["2"]);
  });

  test("keeps nobody from shutting down: what is held is refused then", async () => {
    const disk = smallDisk(6_144);
    const r = rigOn(disk);
    const threadId = await r.newThread();
    await r.send({ type: "thread.send", threadId, text: "hello" });
    const [effect] = r.store.openEffects();
    if (effect === undefined) throw new Error("no effect");
    disk.fill(60 * 1_024);
    const held = r.report({ type: "effects.closed", effectIds: [effect.id], state: "done", note: "1".repeat(400_000) });
    await until(() => r.store.lastCommit > 0, "the first commits");
    await r.clock.advance(500);
    await r.dispatcher.close();
    expect(outcomes([await held])).toEqual(["orchestration_error disk_full"]);
  });
});

const broken = failingSync();
afterAll(() => {
  if (typeof broken !== "string") broken.remove();
});

describe.skipIf(typeof broken === "string")(`a sync that fails (${typeof broken === "string" ? broken : "by a preloaded library"})`, () => {
  type Answer = { receipts: Receipt[]; fatal: string[]; commits: number; lastCommit: number };

  function process_(dir: string) {
    if (typeof broken === "string") throw new Error(broken);
    const script = fileURLToPath(new URL("./sync-victim.ts", import.meta.url));
    const child = spawn(process.execPath, [script, dir], { env: { ...process.env, ...broken.env }, stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      async ask(commands: { id: CommandId; command: PublicCommand }[]): Promise<Answer> {
        child.stdin.write(`${JSON.stringify(commands)}\n`);
        return JSON.parse((await lines.next()).value as string) as Answer;
      },
      async end() {
        child.stdin.end();
        await once(child, "exit");
      },
    };
  }

  test("acknowledges nothing, tries nothing again, takes nothing more, and is told; the next start says what became of it", async () => {
    if (typeof broken === "string") return;
    const dir = temporaryFolder();
    const commands = ["a", "b", "c", "d"].map((title) => ({ id: ids.next("cmd"), command: create(title) }));
    const [first, second, third, later] = commands as [
      (typeof commands)[0],
      (typeof commands)[0],
      (typeof commands)[0],
      (typeof commands)[0],
    ];
    const victim = process_(dir);
    expect(outcomes((await victim.ask([first])).receipts)).toEqual(["ok"]);
    broken.breakDisk();
    const failed = "orchestration_error sync_failed";
    const during = await victim.ask([second, third]);
    expect(outcomes(during.receipts)).toEqual([failed, failed]);
    expect(during).toMatchObject({ fatal: ["sync_failed"], commits: 1, lastCommit: 1 });
    // The disk recovers, but the process knows no longer what is on it.
    broken.mendDisk();
    const after = await victim.ask([later, first]);
    expect(outcomes(after.receipts)).toEqual([failed, failed]);
    expect(after).toMatchObject({ fatal: ["sync_failed"], commits: 1, lastCommit: 1 });
    await victim.end();

    const store = openStore(dir);
    onTestFinished(() => store.close());
    const found = store.lastCommit;
    // Both of the batch, or neither.
    expect([1, 2]).toContain(found);
    const rig = dispatcherRig(store);
    const again = await Promise.all(commands.map(({ id, command }) => rig.send(command, id)));
    expect(again.map((x) => x.ok && x.repeated)).toEqual([true, found === 2, found === 2, false]);
    expect(store.countActors("thread")).toEqual({ idle: 4 });
  });
});
