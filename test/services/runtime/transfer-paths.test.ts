import { describe, expect, test } from "vitest";
import { getSimplePaths } from "xstate/graph";
import { transferMachine } from "../../../actors/transfer.ts";
import type { Unstamped } from "../../../schemas/events/common.ts";
import { TransferCreated, type TransferEvent } from "../../../schemas/events/transfer.ts";
import type { AttemptId, HandoffId, RunId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import { refusal } from "../../../schemas/refusal.ts";
import type { TransferContext, TransferStatus } from "../../../schemas/transfer.ts";
import type { Resting } from "../../../services/runtime/kernel.ts";
import { statusOf } from "../../../services/runtime/kernel.ts";
import { kernels } from "../../../services/runtime/kernels.ts";
import { pointAt } from "../../../services/runtime/source-point.ts";

const uuid = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;
const thread = `thread:${uuid(1)}` as ThreadId;
const stamp = { at: 1, eid: uuid(9) };

const birth = TransferCreated.parse({
  type: "transfer.created",
  ...stamp,
  input: {
    id: `transfer:${uuid(1)}`,
    type: "merge_back",
    sourceThreadId: thread,
    targetThreadId: thread,
    sourcePoint: pointAt({ threadId: thread, runId: null, ordinal: 1 }),
    basePoint: null,
    sourceProvider: null,
    targetProvider: null,
    supersedes: null,
    createdBy: "user",
    taskId: null,
    content: null,
    outcome: null,
  },
});

/** Two runs, the first with two attempts. */
const claimants = [
  { runId: `run:${uuid(1)}` as RunId, attemptId: `attempt:${uuid(1)}` as AttemptId },
  { runId: `run:${uuid(1)}` as RunId, attemptId: `attempt:${uuid(2)}` as AttemptId },
  { runId: `run:${uuid(2)}` as RunId, attemptId: `attempt:${uuid(3)}` as AttemptId },
];
const points = { basePoint: null, sourcePoint: null };
const native = { kind: "native_fork", providerThreadRef: { id: "n", strength: "strong" } } as const;
const told = { kind: "delta_context", contextHandoffId: `handoff:${uuid(1)}` as HandoffId } as const;
const unstamped: Unstamped<TransferEvent>[] = [
  ...claimants.flatMap((by): Unstamped<TransferEvent>[] => [
    { type: "transfer.claimed", ...by, targetProvider: "p1" },
    { type: "transfer.released", ...by },
    { type: "transfer.resolved", ...by, ...points, resolution: native },
    { type: "transfer.resolved", ...by, ...points, resolution: told },
    { type: "transfer.failed", ...by, error: refusal("orchestration_error", "x", "x", "x") },
    { type: "transfer.consumed", ...by },
  ]),
  { type: "transfer.superseded", by: null },
  { type: "transfer.superseded", by: `transfer:${uuid(2)}` as TransferId },
];
const events = unstamped.map((event) => ({ ...event, ...stamp }) as TransferEvent);

/** The contract's diagram (§4): where each status may lead. A claim and its release change the status of none. */
const diagram: Record<TransferStatus, TransferStatus[]> = {
  pending: ["resolved_native", "resolved_portable", "failed", "superseded"],
  resolved_native: ["consumed", "failed", "superseded"],
  resolved_portable: ["consumed", "failed", "superseded"],
  failed: ["superseded"],
  consumed: [],
  superseded: [],
};

/** Two snapshots are the same place when status and claim are; what else a context remembers does not decide anything. */
const place = (state: unknown, context: TransferContext) => JSON.stringify([state, context.claim]);

const paths = getSimplePaths(transferMachine, {
  input: birth,
  events,
  serializeState: (snapshot) => place(snapshot.value, snapshot.context),
  limit: 100_000,
});

/** A path, walked by the kernel: every place on it, with the event that led there. */
function walk(path: (typeof paths)[number]): { event: TransferEvent | null; at: Resting }[] {
  let at = kernels.transfer.init(birth).next;
  const walked: { event: TransferEvent | null; at: Resting }[] = [{ event: null, at }];
  // The library's paths begin with an event of its own, for the birth.
  for (const { event } of path.steps.slice(1)) {
    const verdict = kernels.transfer.step(at, event);
    if (verdict.kind !== "applied") throw new Error(`${event.type} was ${verdict.kind} on a path`);
    at = verdict.next;
    walked.push({ event: event as TransferEvent, at });
  }
  return walked;
}

const contextOf = ({ context }: Resting) => context as TransferContext;

describe("every path of a transfer", () => {
  const walks = paths.map(walk);

  test("is one of the contract's diagram, and together they walk all of it", () => {
    const seen = new Set<string>();
    for (const steps of walks)
      steps.slice(1).forEach(({ at }, i) => {
        const [from, to] = [statusOf(steps[i]!.at.state), statusOf(at.state)] as [TransferStatus, TransferStatus];
        if (from === to) return;
        expect(diagram[from]).toContain(to);
        seen.add(`${from} ${to}`);
      });
    expect([...seen].sort()).toEqual(
      Object.entries(diagram)
        .flatMap(([from, to]) => to.map((t) => `${from} ${t}`))
        .sort(),
    );
    expect(paths.length).toBeGreaterThan(100);
  });

  test("keeps the books: resolved by whoever claimed it last, consumed by that run alone, once, and superseded only when nobody holds it", () => {
    for (const steps of walks)
      steps.slice(1).forEach(({ event, at }, i) => {
        const before = contextOf(steps[i]!.at);
        const after = contextOf(at);
        const claims =
          before.claim !== null &&
          event !== null &&
          "runId" in event &&
          before.claim.runId === event.runId &&
          before.claim.attemptId === event.attemptId;
        switch (event?.type) {
          case "transfer.claimed":
            expect(before.claim === null || before.claim.runId === event.runId).toBe(true);
            expect(after).toMatchObject({
              claim: { runId: event.runId, attemptId: event.attemptId },
              targetProvider: event.targetProvider,
            });
            break;
          case "transfer.resolved":
            expect(claims).toBe(true);
            expect(after.resolution).toEqual(event.resolution);
            break;
          case "transfer.consumed":
            expect(claims).toBe(true);
            expect(after).toMatchObject({ consumedByRunId: event.runId, consumedAt: event.at, claim: null, error: null });
            expect(after.resolution).not.toBeNull();
            break;
          case "transfer.failed":
            expect(claims).toBe(true);
            expect(after).toMatchObject({ claim: null, error: event.error, consumedByRunId: null });
            break;
          case "transfer.superseded":
            expect(before.claim).toBeNull();
            expect(after).toMatchObject({ supersededBy: event.by, consumedByRunId: null });
            break;
        }
      });
  });

  test("at each of its places, every other event is refused or ignored and changes nothing, and nothing follows an end", () => {
    const places = new Map(walks.flatMap((steps) => steps.map(({ at }) => [place(at.state, contextOf(at)), at] as const)));
    expect(places.size).toBeGreaterThanOrEqual(3 * 4 + 2);
    for (const at of places.values()) {
      const frozen = structuredClone(at);
      for (const event of events) {
        const verdict = kernels.transfer.step(at, event);
        expect(at).toEqual(frozen);
        const status = statusOf(at.state) as TransferStatus;
        if (diagram[status].length === 0) expect(verdict).toEqual({ kind: "rejected", reason: "terminal" });
        if (verdict.kind === "applied") expect([status, ...diagram[status]]).toContain(statusOf(verdict.next.state));
      }
    }
  });

  test("a late answer of an older claim changes nothing", () => {
    const [first, second, other] = claimants as [(typeof claimants)[0], (typeof claimants)[0], (typeof claimants)[0]];
    const fold = (...list: Unstamped<TransferEvent>[]) =>
      kernels.transfer.fold(
        kernels.transfer.init(birth).next,
        list.map((event) => ({ ...event, ...stamp })),
      );
    const claim = (by: (typeof claimants)[0]) => ({ type: "transfer.claimed" as const, ...by, targetProvider: "p1" });
    const held = fold(claim(first), claim(second));
    for (const late of [first, other])
      for (const event of unstamped.filter((e) => "attemptId" in e && e.attemptId === late.attemptId && e.type !== "transfer.claimed"))
        expect([event.type, kernels.transfer.step(held, { ...event, ...stamp } as TransferEvent).kind]).toEqual([
          event.type,
          event.type === "transfer.consumed" ? "rejected" : "ignored",
        ]);
  });
});
