import { createEnvironment } from "../../services/environment.ts";
import type { Victim } from "./killed-environment.ts";

/** A process that runs an environment and kills itself with -9 at a named boundary. What it passes, it prints. */
const { dir, commands, killAt, nth = 1 } = JSON.parse(process.env["ROPEWALK_TEST_VICTIM"] ?? "{}") as Victim;
const isMeant = (name: string) => (killAt.endsWith("*") ? name.startsWith(killAt.slice(0, -1)) : name === killAt);

let passed = 0;
const environment = await createEnvironment({
  dir,
  onBoundary(name) {
    console.log(name);
    if (isMeant(name)) passed += 1;
    if (passed === nth) process.kill(process.pid, "SIGKILL");
  },
});
for (const { id, command } of commands)
  console.log(JSON.stringify(await environment.dispatch(command, id === undefined ? {} : { id: id as never })));
setInterval(() => undefined, 1_000);
