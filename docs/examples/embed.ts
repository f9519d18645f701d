/**
 * ropewalk inside another program: an environment on a folder, a provider that is a few lines of code, a fork, and the
 * transfer actor watched while it goes from pending to consumed. Run by the test suite, so it cannot go stale.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEnvironment } from "../../index.ts";
import { echo } from "./echo.ts";

export async function main(say: (line: string) => void = console.log): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "ropewalk-embed-"));
  const environment = await createEnvironment({ dir, adapters: { echo: echo() }, config: { defaultProvider: "echo", providers: {} } });
  try {
    const { threadId } = await environment.send({ type: "thread.create", title: "The password" });
    const first = await environment.send({ type: "thread.send", threadId, text: "The password is marline." });
    await environment.runs.wait(first.runId);

    const fork = await environment.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
    const transfer = environment.actor(fork.transferId);
    say(`after forking: ${JSON.stringify(transfer.getSnapshot().value)}`);
    const watching = transfer.subscribe((snapshot) => say(`the transfer is now: ${JSON.stringify(snapshot.value)}`));

    const asked = await environment.send({ type: "thread.send", threadId: fork.threadId, text: "What is the password?" });
    const run = await environment.runs.wait(asked.runId);
    watching.unsubscribe();

    const answer = environment.threads.items(fork.threadId).findLast((item) => item.body.kind === "assistant_message");
    say(
      `the fork's run ${run?.status}: ${answer?.body.kind === "assistant_message" && "text" in answer.body.content ? answer.body.content.text : ""}`,
    );
  } finally {
    await environment.close();
    await rm(dir, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
