import { expect, test } from "vitest";
import { InTurn } from "../../../services/purge/in-turn.ts";

test("what is asked for together is done one after the other, with one rewriting behind all of it; one that fails fails alone", async () => {
  const done: string[] = [];
  const inTurn = new InTurn(async () => void done.push("rewritten"));
  const work = (name: string) =>
    inTurn.run(async () => {
      done.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      if (name === "b") throw new Error("b fails");
      done.push(`${name} ends`);
      return name;
    });
  const all = await Promise.allSettled(["a", "b", "c"].map(work));
  expect(all.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason)))).toEqual(["a", "Error: b fails", "c"]);
  expect(done).toEqual(["a begins", "a ends", "b begins", "c begins", "c ends", "rewritten"]);
  expect(await work("d")).toBe("d");
  expect(done.filter((what) => what === "rewritten")).toHaveLength(2);
});

test("when the environment stops, what has begun comes to its end, and nothing else begins", async () => {
  let rewritten = 0;
  const inTurn = new InTurn(async () => {
    rewritten += 1;
  });
  const begun = inTurn.run(async () => inTurn.stop());
  const left = inTurn.run(async () => expect.unreachable());
  await expect(left).rejects.toThrow("left to the next start");
  await begun;
  expect(rewritten).toBe(1);
});
