import { expect, test } from "vitest";
import type { ThreadId } from "../../../../schemas/ids.ts";
import type { ThreadPatch, ThreadSnapshot } from "../../../../schemas/thread-view.ts";
import { applyThreadPatch } from "../../../../services/http/client/apply-thread.ts";
import { EnvironmentRefused } from "../../../../services/http/client/failures.ts";
import { followView } from "../../../../services/http/client/follow-view.ts";
import { SocketTransport } from "../../../../services/http/client/socket-transport.ts";
import type { Answered } from "../../../../services/http/client/transport.ts";
import { threadSnapshot } from "../../../../services/http/sync/thread-snapshot.ts";
import { serveEnvironment } from "../../../../services/serving.ts";
import { atEnd, home } from "../rig.ts";

async function check(answered: Answered): Promise<void> {
  if (answered.status === 200) return;
  const { code, reason, detail, hint } = JSON.parse(new TextDecoder().decode(await answered.bytes()));
  throw new EnvironmentRefused({ code, reason, message: detail, hint });
}

test("a program that follows a view has it whole at any time, across a lost connection, a restart, and a store that is another", async () => {
  const at = await home();
  let server = await serveEnvironment(at.environment);
  atEnd(() => server.close());
  const id: ThreadId = await at.thread("one");
  const transport = new SocketTransport(at.environment.dir);
  const stop = new AbortController();
  let view: ThreadSnapshot | null = null;
  let snapshots = 0;
  let older = false;
  const reading = (async () => {
    const kind = {
      async snapshot(): Promise<ThreadSnapshot> {
        snapshots += 1;
        const whole = await threadSnapshot(at.environment, id, 100);
        if (whole === null) throw new Error("no thread");
        // What a client of a later store would have.
        if (older) return whole;
        older = true;
        return { ...whole, commit: whole.commit + 1_000 };
      },
      livePath: `/threads/${id}/live`,
      apply: applyThreadPatch as (view: ThreadSnapshot, patch: ThreadPatch) => ThreadSnapshot,
    };
    for await (const next of followView(transport, check, kind, { signal: stop.signal })) view = next;
  })();
  const whole = async () => {
    const now = await threadSnapshot(at.environment, id, 100);
    await expect.poll(() => view && { ...view, commit: 0 }, { timeout: 15_000 }).toEqual({ ...now, commit: 0 });
  };
  const say = async (text: string) => {
    const { runId } = await at.send({ type: "thread.send", threadId: id, text });
    await at.environment.runs.wait(runId);
  };
  await say("two");
  await whole();
  await server.close();
  await say("while nobody listens");
  await at.restart();
  server = await serveEnvironment(at.environment);
  await say("three");
  await whole();
  // The first was of another store, the second is followed to the end.
  expect(snapshots).toBe(2);
  stop.abort();
  await reading;
  transport.close();
});
