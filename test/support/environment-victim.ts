import type { CommandId, ThreadId } from "../../schemas/ids.ts";
import { createEnvironment } from "../../services/environment.ts";
import type { Victim } from "./killed-environment.ts";

/** A process that runs an environment and kills itself with -9 at a named boundary. What it passes, it prints. */
const literally = (text: string) => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
const { dir, commands, killAt, nth = 1 } = JSON.parse(process.env.ROPEWALK_TEST_VICTIM ?? "{}") as Victim;
const meant = new RegExp(`^${killAt.split("*").map(literally).join(".*")}$`);
const isMeant = (name: string) => meant.test(name);

let passed = 0;
const environment = await createEnvironment({
  dir,
  onBoundary(name) {
    console.log(name);
    if (isMeant(name)) passed += 1;
    if (passed === nth) process.kill(process.pid, "SIGKILL");
  },
});
for (const step of commands) {
  if ("until" in step) await reaches(step.newestRunOf as ThreadId, step.until);
  else if ("purge" in step) console.log(JSON.stringify(await environment.purges.purge(step.purge)));
  else console.log(JSON.stringify(await environment.dispatch(step.command, step.id === undefined ? {} : { id: step.id as CommandId })));
}
setInterval(() => undefined, 1_000);

function reaches(threadId: ThreadId, status: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => environment.threads.runs(threadId).at(-1)?.status === status && resolve();
    environment.subscribe(look);
    look();
  });
}
