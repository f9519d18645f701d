import { expect, test } from "vitest";
import { resolveThreadOrRun } from "../../../services/cli/references.ts";
import { shortReferences } from "../../../services/cli/short-references.ts";
import { world } from "./rig.ts";

const box = world();

test("a short id that is shown for a run means that run also to commands that take a thread or a run", async () => {
  await box.up();
  // Threads and runs that are made within a moment begin alike.
  const made = await Promise.all(Array.from({ length: 8 }, () => box.client.command({ type: "thread.launch", text: "hello" })));
  const runs = made.map(({ result }) => result.runId);
  const short = await shortReferences(box.client, runs);
  for (const runId of runs) {
    expect(short.get(runId)?.length).toBeLessThan(runId.length);
    expect((await resolveThreadOrRun(box.client, short.get(runId))).runId).toBe(runId);
  }
});
