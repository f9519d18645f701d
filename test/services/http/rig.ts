import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 } from "uuid";
import { afterAll } from "vitest";
import type { PublicCommand } from "../../../schemas/command.ts";
import type { CommandId, ThreadId } from "../../../schemas/ids.ts";
import type { ResultOf } from "../../../schemas/results.ts";
import { createEnvironment } from "../../../services/environment.ts";
import type { Environment } from "../../../services/runtime/environment-api.ts";

/** A real environment with the scripted provider, in this process; gone after the file's tests. */
export type Home = {
  environment: Environment;
  send<C extends PublicCommand>(command: C): Promise<ResultOf[C["type"]]>;
  /** A thread, after a run for each text. */
  thread(...texts: string[]): Promise<ThreadId>;
  /** Closes it and opens it again on the same folder. */
  restart(): Promise<Environment>;
};

const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
/** What is called after the file's tests, the last first. */
export const atEnd = (cleanup: () => Promise<void>) => void cleanups.push(cleanup);

export async function home(): Promise<Home> {
  const dir = mkdtempSync(join(tmpdir(), "ropewalk-http-"));
  const open = () => createEnvironment({ dir, config: { providers: { scripted: { kind: "scripted" } }, defaultProvider: "scripted" } });
  const made: Home = {
    environment: await open(),
    send: (command) => made.environment.send(command, { id: `cmd:${v7()}` as CommandId }),
    async thread(...texts) {
      const { threadId } = await made.send({ type: "thread.create" });
      for (const text of texts) {
        const { runId } = await made.send({ type: "thread.send", threadId, text });
        await made.environment.runs.wait(runId, { timeoutMs: 20_000 });
      }
      return threadId;
    },
    async restart() {
      await made.environment.close();
      made.environment = await open();
      return made.environment;
    },
  };
  atEnd(async () => {
    await made.environment.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return made;
}
