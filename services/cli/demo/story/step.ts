import type { RequestId, RunId, TaskId, ThreadId, TransferId } from "../../../../schemas/ids.ts";
import type { Check } from "./check.ts";
import type { Stage } from "./stage.ts";
import type { Words } from "./words.ts";

/** An import as the laptop asked for it and the box answered it. */
export type ImportSeen = { handoffId: string; requestId: RequestId; threadId: ThreadId; created: boolean; continuation: string };

/** What earlier steps made, for later ones. */
export type Memory = {
  main?: ThreadId;
  fork?: ThreadId;
  forkTransfer?: TransferId;
  merge?: TransferId;
  imported?: ThreadId;
  imports: ImportSeen[];
  taskId?: TaskId;
  child?: ThreadId;
  /** The runs that gave the conversation its codeword and the fork its finding. */
  codewordRun?: RunId;
};

export type StepOutcome = {
  facts: Record<string, unknown>;
  checks: Check[];
  /** What a person is told, a line each. */
  says: string[];
};

/** A step may be taken again from its beginning: its commands have fixed ids. */
export type Step = {
  id: string;
  title: string;
  /** False: the laptop alone can do it. */
  needsBox: boolean;
  take(stage: Stage, memory: Memory, words: Words): Promise<StepOutcome>;
};

/** What an earlier step must have made. */
export function need<K extends keyof Memory>(memory: Memory, name: K): NonNullable<Memory[K]> {
  const value = memory[name];
  if (value === undefined) throw new Error(`an earlier step of the story did not make: ${name}`);
  return value;
}

export function needBox(stage: Stage): NonNullable<Stage["box"]> {
  if (stage.box === null) throw new Error("this step of the story needs the box");
  return stage.box;
}
