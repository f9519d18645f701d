import type { Stage } from "./stage.ts";
import type { Memory, Step, StepOutcome } from "./step.ts";
import { conversation } from "./steps/conversation.ts";
import { fork, forkRun } from "./steps/fork.ts";
import { goOn, importAgain, importThread } from "./steps/import.ts";
import { mergeBack, merged } from "./steps/merge-back.ts";
import { result, spawn } from "./steps/spawn.ts";
import { explore, switchProvider } from "./steps/switch.ts";
import type { Words } from "./words.ts";

/** The demo's story, in order. The crash tests tell the same one. */
export const story: readonly Step[] = [
  conversation,
  fork,
  forkRun,
  switchProvider,
  explore,
  mergeBack,
  merged,
  importThread,
  importAgain,
  goOn,
  spawn,
  result,
];

/** A step as it went. `failed` names what did not hold; `error` is what kept the step from getting to its end. */
export type StepTold = {
  id: string;
  title: string;
  ok: boolean;
  facts: Record<string, unknown>;
  failed: { what: string; saw?: unknown }[];
  says: string[];
  ms: number;
  error?: unknown;
};

export type Telling = {
  stage: Stage;
  words: Words;
  memory: Memory;
  starting?(step: Step): void;
  told?(step: StepTold): void;
  /** Ends the story before its next step. */
  signal?: AbortSignal;
};

/** Tells the story as far as its stage allows, and no further than the first step that did not hold. */
export async function tellStory({ stage, words, memory, starting, told, signal }: Telling): Promise<StepTold[]> {
  const steps: StepTold[] = [];
  for (const step of story) {
    if (step.needsBox && stage.box === null) break;
    signal?.throwIfAborted();
    starting?.(step);
    const one = await takeStep(step, () => step.take(stage, memory, words));
    signal?.throwIfAborted();
    steps.push(one);
    told?.(one);
    if (!one.ok) break;
  }
  return steps;
}

async function takeStep({ id, title }: Step, take: () => Promise<StepOutcome>): Promise<StepTold> {
  const started = performance.now();
  const ms = () => Math.round(performance.now() - started);
  try {
    const { facts, checks, says } = await take();
    const failed = checks.filter((c) => !c.holds).map(({ what, saw }) => (saw === undefined ? { what } : { what, saw }));
    return { id, title, ok: failed.length === 0, facts, failed, says, ms: ms() };
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { id, title, ok: false, facts: {}, failed: [{ what }], says: [], ms: ms(), error };
  }
}
