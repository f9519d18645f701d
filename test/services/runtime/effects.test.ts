import { expect, onTestFinished, test } from "vitest";
import type { EffectRequest } from "../../../schemas/effect.ts";
import type { EffectId } from "../../../schemas/ids.ts";
import { type EffectHandlers, EffectRunner } from "../../../services/runtime/effect-runner.ts";
import { openMemoryStore } from "../../../services/store/sqlite-store.ts";
import { batchOf, ids } from "../../support/commit-batches.ts";
import { dispatcherRig } from "../../support/dispatcher-rig.ts";
import { until } from "../../support/environments.ts";

type Behaviour = (request: EffectRequest, id: EffectId) => Promise<void>;
type Settling = (request: EffectRequest, id: EffectId) => Promise<"settled" | "never_begun">;

const attempt = () => ({ runId: ids.next("run"), attemptId: ids.next("attempt") });
const repeatable = () => ({ id: ids.next("effect"), request: { kind: "run.prepare", policy: "repeatable", ...attempt() } as const });
const once = () => ({ id: ids.next("effect"), request: { kind: "provider.start", policy: "once", ...attempt() } as const });

/** The real runner and dispatcher; what the outside does with an effect is the test's. */
function rig(run: Behaviour, settle: Settling = async () => "settled") {
  const store = openMemoryStore();
  onTestFinished(() => store.close());
  const base = dispatcherRig(store);
  const asked: string[] = [];
  const handler = (kind: string) => ({
    async run(request: EffectRequest, id: EffectId) {
      asked.push(`run ${kind}`);
      await run(request, id);
      await close(id);
    },
    async settle(request: EffectRequest, id: EffectId) {
      asked.push(`settle ${kind}`);
      const answer = await settle(request, id);
      if (answer === "settled") await close(id, "settled");
      return answer;
    },
  });
  const kinds = ["run.prepare", "provider.start", "provider.interrupt", "provider.answer", "thread.wake"];
  const handlers = Object.fromEntries(kinds.map((kind) => [kind, handler(kind)])) as unknown as EffectHandlers;
  const logged: string[] = [];
  const runner = new EffectRunner({ dispatcher: base.dispatcher, handlers, log: (message) => logged.push(message) });
  const close = (id: EffectId, state: "done" | "settled" = "done") =>
    base.report({ type: "effects.closed", effectIds: [id], state, note: "" });
  return {
    ...base,
    runner,
    asked,
    logged,
    /** Commits effects and hands them to the runner, as the composition root does. */
    commit(...effects: { id: EffectId; request: EffectRequest }[]) {
      store.commit(batchOf({ effects }));
      runner.take(effects);
    },
    /** Resolves when no effect is open any more. */
    settled: () => until(() => store.openEffects().length === 0, "every effect to be closed"),
  };
}

test("a once effect has its start committed before it is carried out", async () => {
  const seen: string[] = [];
  const r = rig(async (_request, id) => {
    const row = r.store.openEffects().find((e) => e.id === id);
    seen.push(`${row?.state} ${row?.tries}`);
  });
  r.commit(once());
  await r.settled();
  expect(seen).toEqual(["started 1"]);
});

test("starts that come together share one commit", async () => {
  const r = rig(async () => {});
  r.commit(once(), once(), once());
  r.commit(once());
  await r.settled();
  const started = r.commits.filter((c) => c.batch.effectStates.some((e) => e.state === "started"));
  expect(started.map((c) => c.batch.effectStates.length)).toEqual([4]);
});

test("a repeatable effect is carried out without a commit before it", async () => {
  const seen: string[] = [];
  const r = rig(async (_request, id) => void seen.push(r.store.openEffects().find((e) => e.id === id)?.state ?? "closed"));
  r.commit(repeatable());
  await r.settled();
  expect(seen).toEqual(["pending"]);
});

test("a repeatable effect that fails is tried three times, then set aside and shown; the others go on (case R04)", async () => {
  const bad = repeatable();
  const good = repeatable();
  let tries = 0;
  const r = rig(async (_request, id) => {
    if (id !== bad.id) return;
    tries += 1;
    throw new Error(`try ${tries}`);
  });
  r.commit(bad, good);
  await r.settled();
  expect(tries).toBe(3);
  expect(r.store.effectsSetAside()).toMatchObject([{ id: bad.id, note: "Error: try 3" }]);
  expect(r.logged).toEqual(["an effect was set aside"]);
});

test("a repeatable effect that fails at first is done as soon as it succeeds", async () => {
  let tries = 0;
  const r = rig(async () => {
    tries += 1;
    if (tries < 3) throw new Error("not yet");
  });
  r.commit(repeatable());
  await r.settled();
  expect([tries, r.store.effectsSetAside()]).toEqual([3, []]);
});

test("a once effect is never carried out a second time: when it fails, it is set aside", async () => {
  const r = rig(async () => {
    throw new Error("half done, perhaps");
  });
  const effect = once();
  r.commit(effect);
  await r.settled();
  expect(r.asked).toEqual(["run provider.start"]);
  expect(r.store.effectsSetAside()).toMatchObject([{ id: effect.id, tries: 1, note: "Error: half done, perhaps" }]);
});

test("an effect of a kind that nobody knows is set aside; the others go on", async () => {
  const r = rig(async () => {});
  const unknown = { id: ids.next("effect"), request: { kind: "moon.land", policy: "repeatable" } as unknown as EffectRequest };
  r.commit(unknown, repeatable());
  await r.settled();
  expect(r.store.effectsSetAside().map((e) => e.id)).toEqual([unknown.id]);
});

test("after a restart started effects are settled, not repeated, and the others are carried out", async () => {
  const r = rig(async () => {});
  const [started, pendingOnce, pending] = [once(), once(), repeatable()];
  r.store.commit(batchOf({ effects: [started, pendingOnce, pending] }));
  r.store.commit(batchOf({ effectStates: [{ id: started.id, state: "started", note: "" }] }));
  await r.runner.recover(r.store.openEffects());
  await r.settled();
  expect(r.asked.toSorted()).toEqual(["run provider.start", "run run.prepare", "settle provider.start"]);
  // Settling comes before anything new.
  expect(r.asked[0]).toBe("settle provider.start");
});

test("a started effect that certainly never began is carried out now", async () => {
  const r = rig(
    async () => {},
    async () => "never_begun",
  );
  const effect = once();
  r.store.commit(batchOf({ effects: [effect], effectStates: [{ id: effect.id, state: "started", note: "" }] }));
  await r.runner.recover(r.store.openEffects());
  await r.settled();
  expect(r.asked).toEqual(["settle provider.start", "run provider.start"]);
});

test("a settlement that fails is set aside and stops neither the others nor the start", async () => {
  const [bad, good] = [once(), once()];
  const r = rig(
    async () => {},
    async (_request, id) => {
      if (id === bad.id) throw new Error("no answer");
      return "settled";
    },
  );
  r.store.commit(batchOf({ effects: [bad, good] }));
  r.store.commit(batchOf({ effectStates: [bad, good].map(({ id }) => ({ id, state: "started" as const, note: "" })) }));
  await r.runner.recover(r.store.openEffects());
  await r.settled();
  expect(r.store.effectsSetAside()).toMatchObject([{ id: bad.id, note: "Error: no answer" }]);
});

test("a paused runner takes nothing on: what is committed meanwhile is left for the next start", async () => {
  const r = rig(async () => {});
  r.runner.pause();
  const [a, b] = [once(), repeatable()];
  r.commit(a, b);
  await r.runner.stop();
  await r.newThread();
  expect(r.asked).toEqual([]);
  expect(r.store.openEffects().map((e) => [e.id, e.state])).toEqual([
    [a.id, "pending"],
    [b.id, "pending"],
  ]);
});

test("stopping waits for what is being carried out, and tries nothing again", async () => {
  let fail: (error: Error) => void = () => {};
  const r = rig(() => new Promise((_, reject) => (fail = reject)));
  r.commit(repeatable());
  let stopped = false;
  const stopping = r.runner.stop().then(() => (stopped = true));
  await r.newThread();
  expect(stopped).toBe(false);
  fail(new Error("the provider went away"));
  await stopping;
  expect(r.asked).toEqual(["run run.prepare"]);
  expect(r.store.openEffects()).toHaveLength(1);
});
