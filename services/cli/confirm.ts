import { createInterface } from "node:readline/promises";
import { badInput } from "./failure.ts";
import type { Shell } from "./shell.ts";

/**
 * Says what is about to go, and asks. `yes`: it was agreed to on the command line. Throws where nobody is there to be asked, and
 * for a no.
 */
export async function confirm(shell: Shell, what: { goes: readonly string[]; question: string; yes: boolean }): Promise<void> {
  if (!shell.json) for (const line of what.goes) shell.note(line);
  if (what.yes) return;
  if (shell.json || process.stdin.isTTY !== true)
    throw badInput("not_confirmed", "nobody is here to be asked", "Look with --dry-run, then say --yes.");
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await asking.question(`${what.question} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw badInput("not_confirmed", "nothing was done", "Say y to go on.");
  } finally {
    asking.close();
  }
}
