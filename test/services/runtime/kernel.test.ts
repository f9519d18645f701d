import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnyMachineSnapshot, type AnyStateMachine, initialTransition, setup, transition } from "xstate";
import { legalityTable } from "../../../actors/legality.ts";
import { eventTypes, machines } from "../../../actors/machines.ts";
import { LinkCreated, LinkEvent } from "../../../schemas/events/link.ts";
import { MoveCreated, MoveEvent } from "../../../schemas/events/move.ts";
import { RunCreated, RunEvent } from "../../../schemas/events/run.ts";
import { TaskCreated, TaskEvent } from "../../../schemas/events/task.ts";
import { ThreadCreated, ThreadEvent } from "../../../schemas/events/thread.ts";
import { TransferCreated, TransferEvent } from "../../../schemas/events/transfer.ts";
import { ActorKind } from "../../../schemas/ids.ts";
import { Kernel, type Resting, type Verdict } from "../../../services/runtime/kernel.ts";
import { kernels } from "../../../services/runtime/kernels.ts";
import { arbitraryOf } from "../../support/arbitrary.ts";

type Event = { type: string };

const created = {
  thread: ThreadCreated,
  run: RunCreated,
  transfer: TransferCreated,
  task: TaskCreated,
  link: LinkCreated,
  move: MoveCreated,
};
const events = { thread: ThreadEvent, run: RunEvent, transfer: TransferEvent, task: TaskEvent, link: LinkEvent, move: MoveEvent };

/** One step of a life: an event of every type, and which of them happens, more often than not one that the state knows. */
type Step = { of: Record<string, Event>; known: boolean; pick: number };

/** How an actor begins, and what happens to it: longer than most paths through a machine. */
function lives(kind: ActorKind): fc.Arbitrary<[Event, Step[]]> {
  const of = Object.fromEntries(
    events[kind].options.map((option) => [option.shape.type.value, arbitraryOf(option) as fc.Arbitrary<Event>]),
  );
  const known = fc.integer({ min: 1, max: 4 }).map((n) => n > 1);
  return fc.tuple(
    arbitraryOf(created[kind]) as fc.Arbitrary<Event>,
    fc.array(fc.record({ of: fc.record(of), known, pick: fc.nat(999) }), { minLength: 1, maxLength: 20, size: "max" }),
  );
}

const tables = Object.fromEntries(
  ActorKind.options.map((kind) => [kind, legalityTable(machines[kind] as AnyStateMachine, eventTypes[kind])]),
);

function happens(kind: ActorKind, at: Resting, { of, known, pick }: Step): Event {
  const row = tables[kind]![leafOf(at.state)]!;
  const types = Object.keys(row).filter((type) => !known || row[type]!.verdict !== "illegal");
  const all = types.length > 0 ? types : Object.keys(row);
  return of[all[pick % all.length]!]!;
}

const emitted = (actions: readonly { type: string; params: unknown }[]) =>
  actions.map((action) => (action.params as { event: unknown }).event);

/** A snapshot as the library's own `resolveState` makes it: what `transition()` wants. */
const awake = (machine: AnyStateMachine, at: Resting) =>
  machine.resolveState({ value: at.state, context: at.context } as never) as AnyMachineSnapshot;

const leafOf = (state: unknown): string =>
  typeof state === "string" ? state : Object.entries(state as object).map(([key, inner]) => `${key}.${leafOf(inner)}`)[0]!;

describe.each(ActorKind.options)("the kernel drives the %s machine", (kind) => {
  const machine = machines[kind] as AnyStateMachine;
  const table = tables[kind]!;

  test("in every step as the library's own transition() does, emissions included", () => {
    fc.assert(
      fc.property(lives(kind), ([birth, life]) => {
        const [first, atBirth] = initialTransition(machine, birth as never);
        let { next: at, emissions } = kernels[kind].init(birth);
        expect({ ...at, emissions }).toEqual({ state: first.value, context: first.context, emissions: emitted(atBirth) });
        for (const step of life) {
          const event = happens(kind, at, step);
          const before = structuredClone(at);
          const [plain, actions] = transition(machine, awake(machine, at), event as never);
          const verdict = kernels[kind].step(at, event);
          const after = verdict.kind === "applied" ? verdict.next : at;
          expect(after).toEqual({ state: plain.value, context: plain.context });
          expect(verdict.kind === "applied" ? verdict.emissions : []).toEqual(emitted(actions));
          // What it was given is never changed in place.
          expect(at).toEqual(before);
          at = after;
        }
      }),
      { numRuns: 150 },
    );
  });

  test("with the verdict that its legality table has for the cell", () => {
    const allowed: Record<string, string[]> = {
      accept: ["applied"],
      ignore: ["ignored"],
      illegal: ["illegal"],
      "guarded, else ignored": ["applied", "ignored"],
      "guarded, else refused": ["applied", "guard"],
    };
    const name = (verdict: Verdict) => (verdict.kind === "rejected" ? verdict.reason : verdict.kind);
    fc.assert(
      fc.property(lives(kind), ([birth, life]) => {
        let at = kernels[kind].init(birth).next;
        for (const step of life) {
          const event = happens(kind, at, step);
          const leaf = leafOf(at.state);
          const isFinal = awake(machine, at).status === "done";
          const verdict = kernels[kind].step(at, event);
          expect([leaf, event.type, isFinal ? ["terminal"] : allowed[table[leaf]![event.type]!.verdict]]).toEqual([
            leaf,
            event.type,
            expect.arrayContaining([name(verdict)]),
          ]);
          if (verdict.kind === "applied") at = verdict.next;
        }
      }),
      { numRuns: 150 },
    );
  });

  test("so that a journal of what was applied folds to the same state and context, also after a rest as JSON", () => {
    fc.assert(
      fc.property(lives(kind), ([birth, life]) => {
        const start = kernels[kind].init(birth).next;
        let at = start;
        const journal: Event[] = [];
        for (const step of life) {
          const event = happens(kind, at, step);
          const verdict = kernels[kind].step(JSON.parse(JSON.stringify(at)) as Resting, event);
          if (verdict.kind !== "applied") continue;
          journal.push(event);
          at = verdict.next;
        }
        expect(kernels[kind].fold(start, journal)).toEqual(at);
      }),
      { numRuns: 100 },
    );
  });
});

test("a journal that the machine no longer accepts is not folded in silence", () => {
  const { next } = kernels.transfer.init(fc.sample(lives("transfer"), 1)[0]![0]);
  expect(() => kernels.transfer.fold(next, [{ type: "transfer.consumed" }])).toThrow("no longer accepts transfer.consumed in pending");
});

test("an action that is not data is never run", () => {
  let ran = false;
  const machine = setup({ types: { events: {} as Event } }).createMachine({
    id: "m",
    initial: "a",
    states: { a: { on: { go: { actions: () => (ran = true) } } } },
  });
  const kernel = new Kernel(machine);
  expect(() => kernel.step({ state: "a", context: {} }, { type: "go" })).toThrow("may only emit data");
  expect(ran).toBe(false);
});
