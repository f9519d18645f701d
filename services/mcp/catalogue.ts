import { inputSchema, outputSchema, shallowOutputSchema } from "./compact-schema.ts";
import type { Profile } from "./profile.ts";
import type { AnyTool } from "./tool.ts";
import { delegateTask } from "./tools/delegate-task.ts";
import { orchestratorCapabilities } from "./tools/orchestrator-capabilities.ts";
import { t3EnvironmentLinks } from "./tools/t3-environment-links.ts";
import { t3ThreadFork } from "./tools/t3-thread-fork.ts";
import { t3ThreadImport } from "./tools/t3-thread-import.ts";
import { t3ThreadInterrupt } from "./tools/t3-thread-interrupt.ts";
import { t3ThreadLaunch } from "./tools/t3-thread-launch.ts";
import { t3ThreadList } from "./tools/t3-thread-list.ts";
import { t3ThreadMergeBack } from "./tools/t3-thread-merge-back.ts";
import { t3ThreadMove } from "./tools/t3-thread-move.ts";
import { t3ThreadRead } from "./tools/t3-thread-read.ts";
import { t3ThreadSend } from "./tools/t3-thread-send.ts";
import { t3ThreadTransfers } from "./tools/t3-thread-transfers.ts";
import { t3ThreadWait } from "./tools/t3-thread-wait.ts";
import { taskCancel } from "./tools/task-cancel.ts";
import { taskStatus } from "./tools/task-status.ts";

/** What an agent at work needs: delegate, look around, talk to other threads. Listed in the small profile. */
const atWork: readonly AnyTool[] = [
  delegateTask,
  taskStatus,
  taskCancel,
  t3ThreadList,
  t3ThreadRead,
  t3ThreadSend,
  t3ThreadWait,
  orchestratorCapabilities,
];

export const tools: readonly AnyTool[] = [
  ...atWork,
  t3ThreadLaunch,
  t3ThreadFork,
  t3ThreadMergeBack,
  t3ThreadTransfers,
  t3ThreadInterrupt,
  t3ThreadImport,
  t3ThreadMove,
  t3EnvironmentLinks,
];

const byName = new Map(tools.map((tool) => [tool.name, tool]));

/** Any of the tools, whatever the profile lists. */
export const toolNamed = (name: string): AnyTool | null => byName.get(name) ?? null;

const listings: { [profile in Profile]?: ListedTool[] } = {};

export type ListedTool = {
  name: string;
  description: string;
  inputSchema: Record<string, unknown> & { type: "object" };
  outputSchema: Record<string, unknown> & { type: "object" };
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
};

/** What `tools/list` answers: the whole vocabulary of shapes in the full profile, their outlines in the small one. */
export function listing(profile: Profile): ListedTool[] {
  listings[profile] ??= (profile === "small" ? atWork : tools).map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: inputSchema(tool.input) as ListedTool["inputSchema"],
    outputSchema: (profile === "small" ? shallowOutputSchema : outputSchema)(tool.output) as ListedTool["outputSchema"],
    annotations: {
      readOnlyHint: tool.access === "reads",
      destructiveHint: tool.hints.destructive === true,
      // Reads change nothing; everything else is named by its request id or, an import, by its own key.
      idempotentHint: true,
      openWorldHint: tool.hints.openWorld === true,
    },
  }));
  return listings[profile];
}
