import { v7 } from "uuid";
import { expect, test } from "vitest";
import type { CommandId } from "../../../../schemas/ids.ts";
import { Outbox } from "../../../../services/cli/attach/outbox.ts";
import { EnvironmentUnreachable } from "../../../../services/http/client/failures.ts";
import { attachWorld } from "./rig.ts";

test("a message whose answer was lost on the way is said again and sent once; what was typed after it comes after it", async () => {
  const box = attachWorld();
  await box.up();
  const threadId = await box.thread("");
  let lost = 2;
  const outbox = new Outbox(
    async (command, id) => {
      const answer = await box.client.command(command, id);
      lost -= 1;
      if (lost >= 0) throw new EnvironmentUnreachable("", "the answer was lost");
      return answer;
    },
    () => `cmd:${v7()}` as CommandId,
  );
  const send = (text: string) => outbox.post({ type: "thread.send", threadId, text }, text);
  const both = Promise.all([send("first"), send("second")]);
  expect(outbox.unsent()).toEqual(["first", "second"]);
  expect((await both).map(({ ordinal }) => ordinal)).toEqual([1, 2]);
  expect(outbox.unsent()).toEqual([]);
  expect((await box.client.threadRuns(threadId)).runs).toHaveLength(2);
});
