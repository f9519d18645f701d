import { mkdir, writeFile } from "node:fs/promises";
import { dirname, relative, resolve, sep } from "node:path";
import type { Content, ItemBody } from "../../../schemas/item.ts";
import type { Refusal } from "../../../schemas/refusal.ts";
import type { RunEnding } from "../../../schemas/run.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { ProviderFailure } from "../contract.ts";
import { failure, scriptedFailure } from "./failure.ts";
import { pause } from "./pause.ts";
import { defaultOptions, type Question, type Requests } from "./requests.ts";
import { type Choice, fill, recall } from "./rules.ts";
import type { Step } from "./script.ts";

/** Why a turn stops before its steps are through. */
export const interrupted = Symbol("interrupted");
const crashed = Symbol("crashed");

export type Stage = {
  cwd: string;
  clock: Clock;
  requests: Requests;
  /** Where false, approvals are taken as given. */
  canAsk: boolean;
  /** Aborted with {@link interrupted} when the turn shall end. */
  interrupt: AbortSignal;
  /** Aborted with {@link interrupted} when the provider itself ends; nothing ignores it. */
  closing: AbortSignal;
  progress: (text: string) => void;
  /** Writes an item to the conversation, then reports it. */
  item: (body: ItemBody, truncated?: boolean) => Promise<void>;
  known: () => Iterable<string>;
};

export type PlayedEnd = { ending: RunEnding; error: Refusal | null; crashed?: true };

const text = (value: string): Content => ({ text: value });
const json = (value: unknown): Content => text(typeof value === "string" ? value : JSON.stringify(value ?? null));

/** Plays the steps of one turn, all of them or until one ends it. Never rejects. */
export async function play(choice: Choice, stage: Stage): Promise<PlayedEnd> {
  let streamed = "";
  let answer: string | null = null;
  const signals = (step: Step) => (choice.ignoreInterrupt || step.ignoreInterrupt ? [stage.closing] : [stage.closing, stage.interrupt]);

  async function say(rest: string): Promise<void> {
    const whole = streamed + rest;
    streamed = "";
    await stage.item({ kind: "assistant_message", content: text(whole) });
  }

  async function ask(question: Question, step: Step): Promise<string> {
    answer = await stage.requests.ask(question, AbortSignal.any(signals(step)));
    return answer;
  }

  async function approve(asked: NonNullable<Step["approval"]>, step: Step): Promise<void> {
    const question = { question: asked.question ?? "command", text: asked.text, options: asked.options ?? defaultOptions };
    const given = stage.canAsk ? await ask(question, step) : "accept";
    if (given === "cancel") throw interrupted;
    await playAll((given === "decline" ? step.onDecline : step.onAccept) ?? []);
  }

  async function playOne(step: Step): Promise<void> {
    if (step.text !== undefined) return say(step.text);
    if (step.recall !== undefined) return say(recall(step.recall, stage.known()));
    if (step.delta !== undefined) {
      streamed += step.delta;
      return stage.progress(streamed);
    }
    if (step.delay !== undefined) return pause(stage.clock, step.delay, signals(step));
    if (step.hang) return pause(stage.clock, null, signals(step));
    if (step.approval) return approve(step.approval, step);
    if (step.ask) {
      const { text: question, options } = step.ask;
      await ask({ question: "question", text: question, options: options ?? [] }, step);
      return;
    }
    if (step.fail) throw scriptedFailure(step.fail);
    if (step.crash) throw crashed;
    const body = await itemOf(step, stage.cwd);
    if (body !== null) await stage.item(body);
  }

  async function playAll(steps: Step[]): Promise<void> {
    for (const step of steps) {
      for (const signal of signals(step)) signal.throwIfAborted();
      await playOne(fill(step, choice.groups, answer));
    }
  }

  try {
    await playAll(choice.steps);
    if (streamed !== "") await say("");
    return { ending: "completed", error: null };
  } catch (cause) {
    const end = endOf(cause);
    // What was streamed so far is kept, as the piece that it is. A provider that is dead writes nothing down.
    if (streamed !== "" && !end.crashed) {
      await stage.item({ kind: "assistant_message", content: text(streamed) }, true).catch(() => undefined);
    }
    return end;
  }
}

function endOf(cause: unknown): PlayedEnd {
  if (cause === interrupted) return { ending: "interrupted", error: null };
  if (cause === crashed) {
    const died = failure("provider_process_died", "The provider's process ended in the middle of the turn.", "Send again to go on.");
    return { ending: "failed", error: died.refusal, crashed: true };
  }
  if (cause instanceof ProviderFailure) return { ending: "failed", error: cause.refusal };
  const message = cause instanceof Error ? cause.message : String(cause);
  const broken = failure("scripted_provider_broken", `The scripted provider could not go on: ${message}`, "See the message.", {
    code: "orchestration_error",
  });
  return { ending: "failed", error: broken.refusal };
}

/** The item of a step that is one item and nothing else. */
async function itemOf(step: Step, cwd: string): Promise<ItemBody | null> {
  if (step.reasoning !== undefined) return { kind: "reasoning", content: text(step.reasoning) };
  if (step.plan !== undefined) return { kind: "plan", content: text(step.plan) };
  if (step.tool) {
    const { name, arguments: given, result, ok } = step.tool;
    return { kind: "tool_call", tool: name, arguments: json(given), result: json(result), ok: ok ?? true };
  }
  if (step.command) {
    const { command, output, exitCode, cwd: at } = step.command;
    const code = exitCode === undefined ? 0 : exitCode;
    return { kind: "command", command, cwd: at ?? cwd, exitCode: code, output: text(output ?? "") };
  }
  if (step.fileChange) {
    const { path, change, diff, content } = step.fileChange;
    if (content !== undefined) await write(cwd, path, content);
    const added = (content ?? "").split("\n").map((line) => `+${line}`);
    const shown = diff ?? (content === undefined ? "" : [`+++ ${path}`, ...added].join("\n"));
    return { kind: "file_change", changes: [{ path, change: change ?? "update" }], diff: text(shown) };
  }
  return null;
}

async function write(cwd: string, path: string, content: string): Promise<void> {
  const target = resolve(cwd, path);
  const within = relative(cwd, target);
  if (within === "" || within === ".." || within.startsWith(`..${sep}`) || resolve(within) === within) {
    throw failure("outside_folder", `${path} is not inside the thread's folder.`, "Name a path relative to it.", {
      code: "invalid_request",
    });
  }
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
}
