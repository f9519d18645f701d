import { z } from "zod";
import { AccessKind } from "../../../schemas/access.ts";
import { EnvironmentId, ProjectId, ThreadId } from "../../../schemas/ids.ts";
import { limits } from "../../../schemas/limits.ts";
import { Modes } from "../../../schemas/modes.ts";
import { RepositoryIdentity } from "../../../schemas/project.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const projectsListed = 100;

export const orchestratorCapabilities = defineTool({
  name: "orchestrator_capabilities",
  description: "What you may do here: your modes and access; providers, projects, limits.",
  access: "reads",
  hints: {},
  input: z.strictObject({}),
  output: z.object({
    environment: z.object({ id: EnvironmentId, name: z.string() }),
    caller: z.object({
      kind: z.enum(["thread", "client", "user"]),
      threadId: ThreadId.nullable(),
      /** The broadest that it may use and give; null: any. */
      modes: Modes.nullable(),
      access: z.array(AccessKind),
    }),
    capabilities: z.object({ threadImport: z.boolean(), delegateTask: z.boolean() }),
    providers: z.array(z.object({ provider: z.string(), kind: z.string(), nativeFork: z.string() })),
    /** `repository` is what two environments know the same project by; its name and path are each environment's own. */
    projects: z.array(z.object({ id: ProjectId, name: z.string(), path: z.string(), repository: RepositoryIdentity.nullable() })),
    limits: z.record(z.string(), z.number()),
  }),
  run(_, context) {
    const { environment } = context;
    const caller = callerOf(context);
    return {
      environment: { id: environment.id, name: environment.name },
      caller,
      capabilities: {
        threadImport: caller.access.includes("starts_threads"),
        delegateTask: caller.access.includes("starts_threads"),
      },
      providers: environment.providers.list().map(({ instance, kind, capabilities }) => ({
        provider: instance,
        kind,
        nativeFork: capabilities.nativeFork,
      })),
      projects: projectsOf(context),
      limits: {
        importMessages: limits.importMessages,
        importMessageChars: limits.importMessageChars,
        importPromptChars: limits.importPromptChars,
        messageChars: limits.messageChars,
        titleChars: limits.titleChars,
      },
    };
  },
});

function callerOf({ caller, environment }: ToolContext) {
  const thread = caller.kind === "thread" ? environment.threads.get(caller.threadId) : null;
  const modes = caller.kind === "user" ? null : (caller.maxModes ?? thread?.modes ?? null);
  const access = caller.kind === "user" ? undefined : caller.access;
  return { kind: caller.kind, threadId: thread?.id ?? null, modes, access: access ?? AccessKind.options };
}

/** What a link started is shown its own project alone. */
function projectsOf({ caller, environment, sight }: ToolContext) {
  const own = sight.stamp === null || caller.kind !== "thread" ? null : environment.threads.get(caller.threadId)?.projectId;
  return environment.projects
    .list()
    .filter((project) => own === null || project.id === own)
    .slice(0, projectsListed)
    .map(({ id, name, path, repository }) => ({ id, name, path, repository }));
}
