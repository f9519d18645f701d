import type { AttemptId } from "../../schemas/ids.ts";
import type { Modes } from "../../schemas/modes.ts";
import type { LookupAnswer, ProviderAdapter, ProviderFailure, ProviderSession, TurnEvent } from "../../services/providers/contract.ts";
import { type ModelRule, say, shell, when } from "./model-endpoint.ts";
import { TurnLog } from "./turn-log.ts";

/** What a scenario saw of the adapter, step by step. */
export type Seen = Record<string, TurnEvent[] | LookupAnswer | ProviderFailure>;

/** Something done with an adapter, the same with the real binary (which is recorded) and with the recording. */
export type Scenario = { rules: ModelRule[]; play(adapter: ProviderAdapter, cwd: string): Promise<Seen> };

const signal = new AbortController().signal;
const fullAccess: Modes = { runtimeMode: "full-access", interactionMode: "default" };
const asking: Modes = { runtimeMode: "approval-required", interactionMode: "default" };
const planning: Modes = { runtimeMode: "full-access", interactionMode: "plan" };

const patch = (body: string) => shell(`apply_patch <<'EOF'\n*** Begin Patch\n${body}\n*** End Patch\nEOF`);
const question = {
  id: "colour",
  header: "Colour",
  question: "Which?",
  options: [
    { label: "Red", description: "warm" },
    { label: "Blue", description: "cold" },
  ],
};

export const scenarios = {
  /** Messages in pieces, a command that works and one that does not, a file that is made, renamed and deleted, a handoff. */
  turns: {
    rules: [
      when("SAY", say("one two", "one", " two")),
      when("RUN", shell("echo printed"), shell("exit 3"), say("ran")),
      when(
        "PATCH",
        patch("*** Add File: a.txt\n+hello"),
        patch("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-hello\n+goodbye"),
        patch("*** Delete File: b.txt"),
        say("patched"),
      ),
    ],
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, fullAccess);
      return {
        said: await turn(session, "SAY it", { context: ["what was before"] }),
        ran: await turn(session, "RUN it"),
        patched: await turn(session, "PATCH it"),
      };
    },
  },

  /** Every answer to a command, a file change and a question. */
  approvals: {
    rules: [
      when("RUN", shell("touch made"), say("done")),
      when("PATCH", patch("*** Add File: a.txt\n+hello"), say("done")),
      when("ASK", { kind: "tool", name: "request_user_input", arguments: { questions: [question] } }, say("noted")),
    ],
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, asking);
      const seen = {
        declined: await turn(session, "RUN one", { answer: "decline" }),
        cancelled: await turn(session, "RUN two", { answer: "cancel" }),
        accepted: await turn(session, "RUN three", { answer: "accept" }),
        unchanged: await turn(session, "PATCH one", { answer: "decline" }),
        changed: await turn(session, "PATCH two", { answer: "accept_for_session" }),
      };
      return { ...seen, asked: await turn(await open(adapter, cwd, planning), "ASK me", { answer: "Blue" }) };
    },
  },

  failures: {
    rules: [401, 429, 400, 500].map((status) => when(`E${status}.`, { kind: "status", status, message: `told ${status}` })),
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, fullAccess);
      const seen: Seen = {};
      for (const status of [401, 429, 400, 500]) seen[status] = await turn(session, `E${status}.`);
      return seen;
    },
  },

  /** Forks that are honoured and refused, and what became of inputs. */
  history: {
    rules: [],
    async play(adapter, cwd) {
      const source = await open(adapter, cwd, fullAccess);
      const first = await turn(source, "first");
      await turn(source, "second");
      const turnRef = first.flatMap((event) => (event.type === "ended" && event.turnRef ? [event.turnRef] : []))[0]!;
      const request = { cwd, model: null, modes: fullAccess, threadId: "thread:test", kind: "fork", nativeRef: source.nativeRef } as const;
      const unknown = { id: "01970000-0000-7000-8000-000000000000", strength: "strong" } as const;
      const refused = await adapter.open({ ...request, turnRef: unknown }, signal).catch((cause: ProviderFailure) => cause);
      const fork = await adapter.open({ ...request, turnRef }, signal);
      const query = { cwd, threadId: "thread:test", nativeRef: source.nativeRef };
      return {
        refused: refused as ProviderFailure,
        forked: await turn(fork, "third"),
        found: await adapter.lookup({ ...query, attemptId: "attempt:second" }),
        absent: await adapter.lookup({ ...query, attemptId: "attempt:third" }),
      };
    },
  },

  /** A conversation of three turns that is taken back to the first, twice as after a crash, and one that is not there. */
  rewind: {
    rules: [],
    async play(adapter, cwd) {
      const source = await open(adapter, cwd, fullAccess);
      const turns = [await turn(source, "first"), await turn(source, "second"), await turn(source, "third")];
      await source.detach();
      const names = ["first", "second", "third"].map((message, at) => ({
        turnRef: turns[at]!.flatMap((event) => (event.type === "ended" ? [event.turnRef] : []))[0]!,
        attemptId: `attempt:${message}` as AttemptId,
      }));
      const request = {
        cwd,
        model: null,
        modes: fullAccess,
        threadId: "thread:test",
        kind: "resume",
        nativeRef: source.nativeRef,
      } as const;
      const rewind = { keep: names[0]!, drop: names.slice(1) };
      await (await adapter.open({ ...request, rewind }, signal)).detach();
      const back = await adapter.open({ ...request, rewind }, signal);
      const seen = { fourth: await turn(back, "fourth") };
      await back.detach();
      const refused = await adapter
        .open({ ...request, rewind: { keep: names[2]!, drop: [] } }, signal)
        .catch((cause: ProviderFailure) => cause);
      return { ...seen, refused: refused as ProviderFailure };
    },
  },

  /** A turn that is interrupted, and one that its process does not survive. */
  ends: {
    rules: [when("HALF", { kind: "silence", afterDelta: "half a mess" })],
    async play(adapter, cwd) {
      const session = await open(adapter, cwd, fullAccess);
      return {
        interrupted: await turn(session, "HALF one", { meanwhile: () => session.interrupt() }),
        died: await turn(session, "HALF two", { meanwhile: killAppServer }),
      };
    },
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;

/** Kills the app-server that is recorded; of a recording, it ends where the real one did. */
const killAppServer = async () => onKill.current();
export const onKill = { current: async () => undefined as unknown };

function open(adapter: ProviderAdapter, cwd: string, modes: Modes): Promise<ProviderSession> {
  return adapter.open({ kind: "new", cwd, model: null, modes, threadId: "thread:test" }, signal);
}

type Course = { context?: string[]; answer?: string; meanwhile?: () => Promise<unknown> };

/** Gives `message` under the attempt `attempt:<its first word>`, answers what is asked, and tells what the sink was told. */
async function turn(session: ProviderSession, message: string, { context = [], answer, meanwhile }: Course = {}): Promise<TurnEvent[]> {
  const log = new TurnLog();
  await session.startTurn({ attemptId: `attempt:${message}`, runId: "run:test", context, message }, log.sink, signal);
  if (answer !== undefined) await session.answer((await log.asked()).requestId, answer);
  if (meanwhile) {
    await log.until(({ type }) => type === "progress");
    await meanwhile();
  }
  await log.ended();
  return log.events;
}
