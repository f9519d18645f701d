import type { Modes } from "../../schemas/modes.ts";
import type { ProviderAdapter, ProviderSession, TurnEvent } from "../../services/providers/contract.ts";
import { answers, calls, type MessagesRule, whenAsked } from "./messages-endpoint.ts";
import { TurnLog } from "./turn-log.ts";

/** What a scenario saw of the adapter, step by step. */
export type Seen = Record<string, TurnEvent[]>;

/** Something done with an adapter, the same with the real program (which is recorded) and with the recording. */
export type Scenario = { rules: MessagesRule[]; play(adapter: ProviderAdapter, cwd: string): Promise<Seen> };

const signal = new AbortController().signal;
const fullAccess: Modes = { runtimeMode: "full-access", interactionMode: "default" };
const asking: Modes = { runtimeMode: "approval-required", interactionMode: "default" };
const planning: Modes = { runtimeMode: "full-access", interactionMode: "plan" };
const bash = (command: string) => calls("Bash", { command, description: "for a test" });
const write = calls("Write", { file_path: "a.txt", content: "hello\n" });
const question = {
  header: "Colour",
  question: "Which?",
  options: [
    { label: "Red", description: "warm" },
    { label: "Blue", description: "cold" },
  ],
  multiSelect: false,
};
const agent = {
  description: "child",
  prompt: "CHILD task",
  subagent_type: "general-purpose",
  run_in_background: false,
};

export const scenarios = {
  /** Messages in pieces, thoughts, a command that works and one that does not, a file that is made and changed, a subagent, a handoff. */
  turns: {
    rules: [
      whenAsked("CHILD", answers("the child's word")),
      whenAsked("SAY", { kind: "text", text: "one two", chunks: ["one", " two"], thinking: "let me see" }),
      whenAsked("RUN", bash("echo printed"), bash("echo out; exit 3"), answers("ran")),
      whenAsked("FILE", write, calls("Edit", { file_path: "a.txt", old_string: "hello", new_string: "goodbye" }), answers("changed")),
      whenAsked("SPAWN", calls("Agent", agent), answers("spawned")),
    ],
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, fullAccess);
      return {
        said: await turn(session, 1, "SAY it", { context: ["what was before"] }),
        ran: await turn(session, 2, "RUN it"),
        changed: await turn(session, 3, "FILE it"),
        spawned: await turn(session, 4, "SPAWN one"),
      };
    },
  },

  /** Every answer to a command, a file change and a question; plan mode. */
  approvals: {
    rules: [
      whenAsked("RUN", bash("touch made"), answers("done")),
      whenAsked("WRITE", write, answers("done")),
      whenAsked("ASK", calls("AskUserQuestion", { questions: [question] }), answers("noted")),
      whenAsked("PLAN", calls("ExitPlanMode", { plan: "1. Make it." }), answers("waiting")),
    ],
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, asking);
      const seen = {
        declined: await turn(session, 1, "RUN one", { answer: "decline" }),
        cancelled: await turn(session, 2, "RUN two", { answer: "cancel" }),
        accepted: await turn(session, 3, "RUN three", { answer: "accept" }),
        unchanged: await turn(session, 4, "WRITE one", { answer: "decline" }),
        changed: await turn(session, 5, "WRITE two", { answer: "accept_for_session" }),
        asked: await turn(session, 6, "ASK me", { answer: "Blue" }),
      };
      return { ...seen, planned: await turn(await open(adapter, cwd, planning), 7, "PLAN it") };
    },
  },

  failures: {
    rules: [401, 429, 400, 529].map((status) => whenAsked(`E${status}.`, { kind: "status", status, message: `told ${status}` })),
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, fullAccess);
      const seen: Seen = {};
      for (const status of [401, 429, 400, 529]) seen[status] = await turn(session, status, `E${status}.`);
      return seen;
    },
  },

  /** A turn that is interrupted, and one that its process does not survive. */
  ends: {
    rules: [whenAsked("HALF", { kind: "silence", afterDelta: "half a mess" })],
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, fullAccess);
      return {
        interrupted: await turn(session, 1, "HALF one", { meanwhile: () => session.interrupt() }),
        died: await turn(session, 2, "HALF two", { meanwhile: () => onKill.current() }),
      };
    },
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;

/** Kills the program that is recorded; of a recording, it ends where the real one did. */
export const onKill = { current: async () => undefined as unknown };

function open(adapter: ProviderAdapter, cwd: string, modes: Modes): Promise<ProviderSession> {
  return adapter.open({ kind: "new", cwd, model: null, modes, threadId: "thread:test" }, signal);
}

type Course = { context?: string[]; answer?: string; meanwhile?: () => Promise<unknown> };

/** Gives `message` as the `number`-th attempt, answers what is asked, and tells what the sink was told. */
async function turn(session: ProviderSession, number: number, message: string, course: Course = {}): Promise<TurnEvent[]> {
  const { context = [], answer, meanwhile } = course;
  const log = new TurnLog();
  const attemptId = attemptOf(number);
  await session.startTurn({ attemptId, runId: "run:test", context, message }, log.sink, signal);
  if (answer !== undefined) await session.answer((await log.asked()).requestId, answer);
  if (meanwhile) {
    await log.until(({ type }) => type === "progress");
    await meanwhile();
  }
  await log.ended();
  return log.events;
}

/** The same in a recording and when it is played. */
export const attemptOf = (number: number) => `attempt:0197f000-0000-7000-8000-${String(number).padStart(12, "0")}`;
