import type { Mutation } from "./mutation.ts";

const throughTheDoor = "test/services/mcp/import.test.ts";
const answersOnce = "an import with a continuation answers from the history, once, and its retry finds the same thread with created false";
const anotherIsAnother = "another handoff id is another thread; the same ids with other content are a conflict";

const byMcpAlone = {
  file: "test/e2e/mcp/reference-story.test.ts",
  title: "an agent with two pairing codes takes a conversation from the laptop to the box, once however often it tries",
};
const overTheLink = {
  file: "test/e2e/mcp/reference-story.test.ts",
  title: "what comes to the box over the link carries the laptop's stamp, and so does what is made of it; the agent's own does not",
};

/** What makes an import safe to repeat, and tells whose it is (contract §6). */
export const importMutations: Mutation[] = [
  {
    takenOut: "the marker of an imported history",
    file: "services/runtime/commands/thread-import.ts",
    find: 'historyOrigin: "v1_import"',
    replace: 'historyOrigin: "native"',
    noticedBy: [{ file: throughTheDoor, title: answersOnce }, byMcpAlone],
  },
  {
    takenOut: "the header under which the history is told",
    file: "services/context/headers.ts",
    find: '"Imported conversation history from before this thread ran here."',
    replace: '"History."',
    noticedBy: [{ file: throughTheDoor, title: answersOnce }],
  },
  {
    takenOut: "the handoff id in the derivation of the thread's id",
    file: "schemas/ids.ts",
    find: ".update([sourceEnvironmentId, sourceThreadId, handoffId].join",
    replace: '.update([sourceEnvironmentId, sourceThreadId, handoffId.replace(/.*/, "")].join',
    noticedBy: [{ file: throughTheDoor, title: answersOnce }, { file: throughTheDoor, title: anotherIsAnother }, byMcpAlone],
  },
  {
    takenOut: "the deterministic thread id",
    file: "services/runtime/commands/thread-import.ts",
    find: "const threadId = importThreadId(request.sourceEnvironmentId, request.sourceThreadId, request.handoffId);",
    replace: 'const threadId = importThreadId(request.sourceEnvironmentId, request.sourceThreadId, context.uow.ids.next("handoff"));',
    noticedBy: [{ file: throughTheDoor, title: answersOnce }, { file: throughTheDoor, title: anotherIsAnother }, byMcpAlone],
  },
  {
    takenOut: "the deterministic id of the continuation's command",
    file: "services/runtime/commands/thread-import.ts",
    find: "const commandId = continuationCommandId(threadId);",
    replace: 'const commandId = continuationCommandId(context.uow.ids.next("thread"));',
    noticedBy: [{ file: throughTheDoor, title: answersOnce }],
  },
  {
    takenOut: "the look at the continuation's receipt before it is started",
    file: "services/runtime/commands/thread-import.ts",
    find: "if (before !== null) return",
    replace: "if (before !== null && context.uow.now < 0) return",
    noticedBy: [{ file: throughTheDoor, title: answersOnce }, byMcpAlone],
  },
  {
    takenOut: "the stamp of the link that imported",
    file: "services/runtime/access.ts",
    find: 'if (caller.kind === "link") return { environmentId: caller.environmentId, linkId: caller.linkId };',
    replace: 'if (caller.kind === "link") return parent?.linkOrigin ?? null;',
    noticedBy: [
      {
        file: "test/services/mcp/app.test.ts",
        title: "the agent of what a link started sees and changes only what carries the same stamp",
      },
      overTheLink,
    ],
  },
];
