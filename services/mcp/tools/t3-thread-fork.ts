import { z } from "zod";
import type { ForkPoint } from "../../../schemas/command.ts";
import { CheckpointId, ProviderThreadId, RunId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import { Title } from "../../../schemas/text.ts";
import { refuse } from "../refused.ts";
import { clientRequestId, given } from "../shapes.ts";
import { defineTool } from "../tool.ts";

const points = { runId: RunId.optional(), checkpointId: CheckpointId.optional(), providerThreadId: ProviderThreadId.optional() };

export const t3ThreadFork = defineTool({
  name: "t3_thread_fork",
  description: "Fork a thread at its latest completed run or the point named. Free until you send to the fork.",
  access: "starts_threads",
  hints: {},
  input: z.strictObject({ threadId: ThreadId, ...points, title: Title.optional(), clientRequestId }),
  output: z.object({ threadId: ThreadId, transferId: TransferId, repeated: z.boolean() }),
  async run({ threadId, title, clientRequestId: id, ...point }, context) {
    const command = { type: "thread.fork" as const, threadId, at: pointOf(point), ...given({ title }) };
    const { result, repeated } = await context.dispatch(command, id);
    return { ...result, repeated };
  },
});

function pointOf({ runId, checkpointId, providerThreadId }: z.output<z.ZodObject<typeof points>>): ForkPoint {
  const named: ForkPoint[] = [];
  if (runId !== undefined) named.push({ kind: "run", runId });
  if (checkpointId !== undefined) named.push({ kind: "checkpoint", checkpointId });
  if (providerThreadId !== undefined) named.push({ kind: "provider_thread", providerThreadId });
  if (named.length > 1) refuse("invalid_request", "two_points", "more than one point is named", "Name one of them, or none.");
  return named[0] ?? { kind: "latest_stable" };
}
