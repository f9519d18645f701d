import { join } from "node:path";
import { defaultModes } from "../../../../schemas/modes.ts";
import { createScriptedAdapter } from "../../../../services/providers/scripted/adapter.ts";

/** A process that is to be killed in the middle of its second turn. Its one argument is a rig's folder. */
const dir = process.argv[2] ?? "";
const never = new AbortController().signal;
const adapter = createScriptedAdapter({
  instance: "scripted",
  config: { kind: "scripted", script: join(dir, "script.json") },
  stateDir: join(dir, "state"),
});
const session = await adapter.open({ cwd: dir, model: null, modes: defaultModes, threadId: "thread:test", kind: "new" }, never);

function turn(number: number, message: string, until: "ended" | "item") {
  return new Promise((resolve, reject) => {
    const input = { attemptId: `attempt:${number}`, runId: "run:test", context: [], message };
    let ref: unknown = null;
    session
      .startTurn(input, (event) => event.type === until && resolve(ref), never)
      .then((accepted) => {
        ref = accepted.turnRef;
      }, reject);
  });
}

const turns = [await turn(1, "remember CW-blue", "ended"), await turn(2, "hang", "item")];
console.log(JSON.stringify({ nativeRef: session.nativeRef, turns }));
setInterval(() => undefined, 1_000);
