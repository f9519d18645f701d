import type { Mutation } from "./mutation.ts";

const access = "test/services/mcp/access.test.ts";
const app = "test/services/mcp/app.test.ts";

/** What keeps a caller of the tools within what it was given (contract §8). */
export const mcpMutations: Mutation[] = [
  {
    takenOut: "the look at a caller's access before a tool is called",
    file: "services/mcp/call.ts",
    find: "    needAccess(context.caller, tool.access);\n",
    replace: "",
    noticedBy: [{ file: access, title: "t3_thread_list: a client without its kind is refused, one with nothing else is let in" }],
  },
  {
    takenOut: "the narrowing of a client by its headers",
    file: "services/mcp/access.ts",
    find: "maxModes: narrower(caller.maxModes, wished), access",
    replace: "maxModes: caller.maxModes, access",
    noticedBy: [{ file: access, title: "narrow a client and an agent, and never widen them" }],
  },
  {
    takenOut: "that a header gives no access",
    file: "services/mcp/access.ts",
    find: "access.filter((kind) => given === undefined || given.includes(kind))",
    replace: "access",
    noticedBy: [{ file: access, title: "narrow a client and an agent, and never widen them" }],
  },
  {
    takenOut: "the modes of the target",
    file: "services/runtime/access.ts",
    find: 'if (caller.kind === "client") holdWithin(thread, caller.maxModes);',
    replace: "",
    noticedBy: [
      {
        file: access,
        title: "every tool, called by a client: every mode of the caller against every mode of the target and every mode asked for",
      },
    ],
  },
  {
    takenOut: "whose a session is",
    file: "services/mcp/sessions.ts",
    find: " || session.owner !== callerName(caller)",
    replace: "",
    noticedBy: [{ file: app, title: "a session is found only by the caller that opened it, and ends when it is told to" }],
  },
  {
    takenOut: "what an agent of a link's thread does not see",
    file: "services/mcp/access.ts",
    find: "return this.stamp === null || thread.linkOrigin?.linkId === this.stamp.linkId;",
    replace: "return true;",
    noticedBy: [{ file: app, title: "the agent of what a link started sees and changes only what carries the same stamp" }],
  },
  {
    takenOut: "the caller's name in the id of its command",
    file: "services/mcp/command-id.ts",
    find: "callerName(caller)}:",
    replace: '"client"}:',
    noticedBy: [{ file: "test/services/mcp/idempotency.test.ts", title: "two callers do not meet under one request id" }],
  },
];
