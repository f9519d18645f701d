import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createMachine } from "xstate";
import { legalityTable, renderLegality } from "../../actors/legality.ts";
import { lintMachine } from "../../actors/lint.ts";
import { eventTypes, machines } from "../../actors/machines.ts";
import { ActorKind } from "../../schemas/ids.ts";
import { TransferStatus } from "../../schemas/transfer.ts";

describe("the machines", () => {
  test.each(ActorKind.options)("%s is sound: every name is known and nothing in it cannot be persisted", (kind) => {
    expect(lintMachine(machines[kind], eventTypes[kind])).toEqual([]);
  });

  test("the lint finds what the type checker lets through", () => {
    const bad = createMachine({
      id: "bad",
      initial: "a",
      states: {
        a: { on: { go: { target: "b", actoins: "x", guard: "nobody" }, other: { actions: "missing" } }, entry: () => {} },
        b: { after: { 10: "a" } },
      },
    } as never);
    const found = lintMachine(bad, ["go", "never"]).join("\n");
    for (const expected of [
      "no version",
      '"actoins" is unknown',
      'guard "nobody"',
      'action "missing"',
      "no schema has",
      '"entry"',
      '"after"',
      "event never is used in no state",
    ])
      expect(found).toContain(expected);
  });

  test.each(ActorKind.options)("what each event does in each state of a %s changes only with a reviewed golden file", (kind) => {
    const file = new URL(`../golden/legality/${kind}.md`, import.meta.url);
    const now = renderLegality(kind, legalityTable(machines[kind], eventTypes[kind]));
    if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, now);
    expect(now).toBe(readFileSync(file, "utf8"));
  });

  test("a transfer has exactly the statuses of the contract", () => {
    expect(Object.keys(machines.transfer.states).sort()).toEqual([...TransferStatus.options].sort());
  });
});
