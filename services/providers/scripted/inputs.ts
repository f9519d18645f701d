import { join } from "node:path";
import type { Modes } from "../../../schemas/modes.ts";
import { JsonLines, readJsonLines } from "./json-lines.ts";

/** One accepted input, as `inputs.jsonl` shows it. */
export type InputRecord = {
  /** Milliseconds since 1970. */
  at: number;
  threadId: string;
  runId: string;
  attemptId: string;
  /** The native conversation. */
  native: string;
  /** How the conversation was opened for this input. */
  opened: "new" | "resume" | "fork";
  /** For the first input of a fork: the native conversation and the turn that it was forked at. */
  forkedFrom?: { native: string; turn: string };
  /** For the first input after it was taken back in place: the turn that was then its last. */
  rewoundTo?: string | null;
  /** Counted from 1 in the native conversation, with what a fork inherited and what was taken back since. */
  turn: number;
  context: string[];
  message: string;
  /** The exact text given. With a native channel for context: the message alone. */
  full: string;
  cwd: string;
  model: string | null;
  modes: Modes;
};

/** Where an attempt's input went: the native conversation, and the number of its turn there. */
export type AcceptedAt = { native: string; turn: number };

/**
 * The record of every input that was accepted: a line of it *is* the acceptance. So after a crash it answers exactly
 * what became of an attempt.
 */
export class Inputs {
  readonly #path: string;
  readonly #lines: JsonLines;
  #accepted: Promise<Map<string, AcceptedAt>> | null = null;

  constructor(stateDir: string) {
    this.#path = join(stateDir, "inputs.jsonl");
    this.#lines = new JsonLines(this.#path, { durable: true });
  }

  /** Resolves when the input is accepted for good. */
  async accept(record: InputRecord): Promise<void> {
    const accepted = await this.#load();
    await this.#lines.append(record);
    accepted.set(record.attemptId, { native: record.native, turn: record.turn });
  }

  /** Every accepted attempt. */
  accepted(): Promise<ReadonlyMap<string, AcceptedAt>> {
    return this.#load();
  }

  /** Read once in the life of the process, before the first append: a line that a crash cut off is gone by then. */
  #load(): Promise<Map<string, AcceptedAt>> {
    this.#accepted ??= readJsonLines(this.#path).then(
      (lines) => new Map((lines as InputRecord[]).map(({ attemptId, native, turn }) => [attemptId, { native, turn }])),
    );
    return this.#accepted;
  }
}
