import { expect, test } from "vitest";
import type { EnvironmentSnapshot } from "../../../schemas/environment-view.ts";
import type { ThreadSnapshot } from "../../../schemas/thread-view.ts";
import { withOlderTurns } from "../../../services/http/client/apply-thread.ts";
import { connectLocal } from "../../../services/http/client.ts";
import { serveEnvironment } from "../../../services/serving.ts";
import { atEnd, home } from "./rig.ts";

const textOf = (view: ThreadSnapshot | null) => JSON.stringify(view?.turns ?? []);

test("a program follows a thread and the list of threads by the client, and reads older turns to the first", async () => {
  const at = await home();
  const server = await serveEnvironment(at.environment);
  atEnd(() => server.close());
  const client = connectLocal(at.environment.dir);
  atEnd(async () => client.close());
  const id = await at.thread("first", "second", "third");

  let view = await client.viewThread(id, { limit: 2 });
  expect(textOf(view)).not.toContain("first");
  for (let before = view.olderThan; before != null; before = view.olderThan)
    view = withOlderTurns(view, await client.olderTurns(id, { before, limit: 2 }));
  const { olderThan: _, ...whole } = await client.viewThread(id);
  expect(view).toEqual(whole);

  const stop = new AbortController();
  let [thread, list]: [ThreadSnapshot | null, EnvironmentSnapshot | null] = [null, null];
  const following = [
    (async () => {
      for await (const next of client.followThread(id, { signal: stop.signal })) thread = next;
    })(),
    (async () => {
      for await (const next of client.followEnvironment({ signal: stop.signal })) list = next;
    })(),
  ];
  await expect.poll(() => [thread, list].every((each) => each !== null), { timeout: 15_000 }).toBe(true);
  await client.command({ type: "thread.send", threadId: id, text: "fourth" });
  await client.command({ type: "thread.create", title: "another" });
  await expect.poll(() => textOf(thread), { timeout: 15_000 }).toContain("fourth");
  await expect.poll(() => list?.threads.map((line) => line.title), { timeout: 15_000 }).toEqual(["another", ""]);
  stop.abort();
  await Promise.all(following);
});
