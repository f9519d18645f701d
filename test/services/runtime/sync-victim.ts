import { createInterface } from "node:readline";
import type { PublicCommand } from "../../../schemas/command.ts";
import type { CommandId } from "../../../schemas/ids.ts";
import { openStore } from "../../../services/store/sqlite-store.ts";
import { dispatcherRig } from "../../support/dispatcher-rig.ts";

/** Dispatches the commands of each line of its input at once, and says what was answered and what was fatal. */
const rig = dispatcherRig(openStore(process.argv[2] ?? ""));
for await (const line of createInterface({ input: process.stdin })) {
  const commands = JSON.parse(line) as { id: CommandId; command: PublicCommand }[];
  const receipts = await Promise.all(commands.map(({ id, command }) => rig.send(command, id)));
  const facts = { receipts, fatal: rig.fatal.map((f) => f.reason), commits: rig.commits.length, lastCommit: rig.store.lastCommit };
  process.stdout.write(`${JSON.stringify(facts)}\n`);
}
// As `onFatal` of an environment does: nothing is closed politely.
process.exit(1);
