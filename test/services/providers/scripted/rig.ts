import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { defaultModes } from "../../../../schemas/modes.ts";
import type { NativeRef } from "../../../../schemas/provider.ts";
import type { ProviderAdapter, ProviderSession, TurnEvent } from "../../../../services/providers/contract.ts";
import { createScriptedAdapter } from "../../../../services/providers/scripted/adapter.ts";
import type { InputRecord } from "../../../../services/providers/scripted/inputs.ts";

const never = new AbortController().signal;

/** A folder with a script, and adapters on it: a second one stands for the next process. */
export type Rig = {
  dir: string;
  script(value: unknown): void;
  adapter(): ProviderAdapter;
  inputs(): InputRecord[];
};

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

export function rig(script: unknown = {}): Rig {
  const dir = mkdtempSync(join(tmpdir(), "scripted-"));
  const adapters: ProviderAdapter[] = [];
  cleanups.push(async () => {
    for (const adapter of adapters) await adapter.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const file = join(dir, "script.json");
  const put = (value: unknown) => writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  put(script);
  return {
    dir,
    script: put,
    adapter() {
      const adapter = createScriptedAdapter({
        instance: "scripted",
        config: { kind: "scripted", script: file },
        stateDir: join(dir, "state"),
      });
      adapters.push(adapter);
      return adapter;
    },
    inputs: () =>
      readFileSync(join(dir, "state", "inputs.jsonl"), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as InputRecord),
  };
}

const base = (dir: string) => ({ cwd: dir, model: null, modes: defaultModes, threadId: "thread:test" });
export const openNew = (adapter: ProviderAdapter, dir: string, signal = never) => adapter.open({ ...base(dir), kind: "new" }, signal);
export const openResume = (adapter: ProviderAdapter, dir: string, nativeRef: NativeRef, signal = never) =>
  adapter.open({ ...base(dir), kind: "resume", nativeRef }, signal);
export const openFork = (adapter: ProviderAdapter, dir: string, nativeRef: NativeRef, turnRef: NativeRef, signal = never) =>
  adapter.open({ ...base(dir), kind: "fork", nativeRef, turnRef }, signal);

type Ended = Extract<TurnEvent, { type: "ended" }>;
export type Turn = {
  events: TurnEvent[];
  turnRef: NativeRef | null;
  ended: Promise<Ended>;
  seen(type: TurnEvent["type"]): Promise<TurnEvent>;
};

let attempts = 0;
export const nextAttempt = () => `attempt:${++attempts}`;

/** Starts a turn and listens. */
export async function start(
  session: ProviderSession,
  message: string,
  options: { context?: string[]; attemptId?: string; signal?: AbortSignal } = {},
): Promise<Turn> {
  const events: TurnEvent[] = [];
  const waiting: { type: TurnEvent["type"]; resolve: (event: TurnEvent) => void }[] = [];
  const seen = (type: TurnEvent["type"]) =>
    new Promise<TurnEvent>((resolve) => {
      const found = events.find((event) => event.type === type);
      if (found) resolve(found);
      else waiting.push({ type, resolve });
    });
  const { turnRef } = await session.startTurn(
    { attemptId: options.attemptId ?? nextAttempt(), runId: "run:test", context: options.context ?? [], message },
    (event) => {
      events.push(event);
      for (const { type, resolve } of waiting) if (type === event.type) resolve(event);
    },
    options.signal ?? never,
  );
  return { events, turnRef, ended: seen("ended") as Promise<Ended>, seen };
}

/** Plays a whole turn; what the assistant said, and how it ended. */
export async function say(session: ProviderSession, message: string, context: string[] = []) {
  const turn = await start(session, message, { context });
  const ended = await turn.ended;
  const texts = turn.events.flatMap((event) =>
    event.type === "item" && event.body.kind === "assistant_message" && "text" in event.body.content ? [event.body.content.text] : [],
  );
  return { ...turn, ended, texts };
}
