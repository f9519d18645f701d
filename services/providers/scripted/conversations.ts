import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ItemBody } from "../../../schemas/item.ts";
import type { TurnName } from "../../../schemas/provider.ts";
import type { RunEnding } from "../../../schemas/run.ts";
import type { Rewind } from "../contract.ts";
import { type Conversation, type ConversationRecord, inheritedRecords, replay, type Turn, turnId } from "./conversation.ts";
import { cannotOpen, cannotRewind, failure } from "./failure.ts";
import type { Inputs } from "./inputs.ts";
import { JsonLines, readJsonLines } from "./json-lines.ts";

const idPattern = /^sc-[0-9a-f-]{36}$/;

/** A conversation that somebody writes to. All its writers in this process share it. */
export type OpenConversation = { conversation: Conversation; lines: JsonLines; writers: number };

/** Kept in memory while somebody holds it. */
type Held = { loaded: Promise<OpenConversation>; holders: number };

/** The native conversations of one instance: a file each in `<stateDir>/conversations/`. They survive the process. */
export class Conversations {
  readonly #folder: string;
  readonly #inputs: Inputs;
  readonly #held = new Map<string, Held>();

  constructor(stateDir: string, inputs: Inputs) {
    this.#folder = join(stateDir, "conversations");
    this.#inputs = inputs;
  }

  async create(threadId: string, at: number): Promise<OpenConversation> {
    return this.#write(threadId, at, null, []);
  }

  /** `exclusive`: refused while anybody else writes to it (`writerLock`). */
  async resume(id: string, exclusive: boolean): Promise<OpenConversation> {
    const open = await this.#hold(id);
    if (exclusive && open.writers > 0) {
      this.#letGo(id);
      throw failure("writer_locked", `The conversation ${id} has another writer.`, "Detach the other writer first.");
    }
    open.writers += 1;
    return open;
  }

  /**
   * Takes back what `drop` names, and what came with it. Repeatable: what is gone already is no failure. Refused where the
   * turn that is to stay is not there.
   */
  async rewind({ conversation, lines }: OpenConversation, { keep, drop }: Rewind): Promise<void> {
    const { turns } = conversation;
    const isNamed = (turn: Turn, { turnRef, attemptId }: TurnName) => turn.id === turnRef?.id || turn.attemptId === attemptId;
    const kept = turns.findIndex((turn) => isNamed(turn, keep));
    if (kept === -1) throw cannotRewind(`The conversation ${conversation.id} has no such turn.`);
    const first = turns.findIndex((turn, at) => at > kept && drop.some((name) => isNamed(turn, name)));
    const last = turns[first - 1];
    if (first === -1 || last === undefined) return;
    await lines.append({ type: "rewound", to: last.id } satisfies ConversationRecord);
    turns.splice(first);
  }

  /** A new conversation with the turns up to and including `turn`, which must be completed. `headOnly`: and be the last. */
  async fork(source: { native: string; turn: string }, threadId: string, at: number, headOnly: boolean): Promise<OpenConversation> {
    const { turns } = await this.peek(source.native);
    const index = turns.findIndex(({ id }) => id === source.turn);
    const turn = turns[index];
    if (turn === undefined) {
      throw cannotOpen(
        "native_turn_unknown",
        `The conversation ${source.native} has no turn ${source.turn}.`,
        "Start from a handoff instead.",
      );
    }
    if (turn.ending !== "completed") {
      throw cannotOpen("native_turn_incomplete", `The turn ${turn.id} is not completed.`, "Fork at a completed turn.");
    }
    if (headOnly && index !== turns.length - 1) {
      throw cannotOpen("native_fork_refused", "This provider forks at the latest turn only.", "Start from a handoff instead.");
    }
    return this.#write(threadId, at, source, turns.slice(0, index + 1));
  }

  /** Gives up a writer's hold. */
  release(open: OpenConversation): void {
    open.writers -= 1;
    this.#letGo(open.conversation.id);
  }

  /** The conversation as it is, without becoming its writer. */
  async peek(id: string): Promise<Conversation> {
    const { conversation } = await this.#hold(id);
    this.#letGo(id);
    return conversation;
  }

  /** How a turn ended; null while it runs in this process. A turn that a dead process left open was interrupted. */
  async endingOf(native: string, turn: string): Promise<RunEnding | null> {
    const conversation = await this.peek(native).catch(() => null);
    const found = conversation?.turns.find(({ id }) => id === turn);
    return found === undefined ? "interrupted" : found.ending;
  }

  /** Writes down a turn whose input is about to be accepted. It counts only with the input's own record. */
  async prepareTurn(open: OpenConversation, turn: Turn): Promise<void> {
    const { id, attemptId, context, message } = turn;
    await open.lines.append({ type: "turn", turn: id, attemptId, inherited: false, context, message } satisfies ConversationRecord);
  }

  async addItem(open: OpenConversation, turn: Turn, body: ItemBody): Promise<void> {
    await open.lines.append({ type: "item", turn: turn.id, body } satisfies ConversationRecord);
    turn.items.push(body);
  }

  async endTurn(open: OpenConversation, turn: Turn, ending: RunEnding): Promise<void> {
    await open.lines.append({ type: "ended", turn: turn.id, ending } satisfies ConversationRecord);
    turn.ending = ending;
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.jsonl`);
  }

  async #hold(id: string): Promise<OpenConversation> {
    const held = this.#held.get(id) ?? { loaded: this.#load(id), holders: 0 };
    this.#held.set(id, held);
    held.holders += 1;
    try {
      return await held.loaded;
    } catch (cause) {
      this.#letGo(id);
      throw cause;
    }
  }

  #letGo(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.holders -= 1;
    if (held.holders === 0) this.#held.delete(id);
  }

  async #load(id: string): Promise<OpenConversation> {
    // The id comes from outside and becomes a file's name.
    const lines = idPattern.test(id) ? await this.#read(id) : [];
    if (lines.length === 0) {
      throw cannotOpen("native_thread_unknown", `There is no conversation ${id}.`, "Start from a handoff instead.");
    }
    const accepted = await this.#inputs.accepted();
    const conversation = replay(id, lines as ConversationRecord[], (attemptId, turn) => {
      const at = accepted.get(attemptId);
      return at !== undefined && turnId(at.native, at.turn) === turn;
    });
    // Nobody in this process writes to it, so what is left open was cut off with an earlier process.
    for (const turn of conversation.turns) turn.ending ??= "interrupted";
    return { conversation, lines: new JsonLines(this.#path(id), { durable: false }), writers: 0 };
  }

  async #read(id: string): Promise<unknown[]> {
    return readJsonLines(this.#path(id)).catch((cause: unknown) => {
      throw cannotOpen("native_thread_damaged", `The conversation ${id} cannot be read: ${String(cause)}`, "Start from a handoff instead.");
    });
  }

  async #write(
    threadId: string,
    at: number,
    forkedFrom: { native: string; turn: string } | null,
    prefix: Turn[],
  ): Promise<OpenConversation> {
    const id = `sc-${randomUUID()}`;
    const records: ConversationRecord[] = [{ type: "opened", id, threadId, forkedFrom, at }, ...inheritedRecords(prefix)];
    await mkdir(this.#folder, { recursive: true });
    // Under its name only when it is whole: a crash leaves no half of a fork.
    await writeFile(`${this.#path(id)}.part`, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    await rename(`${this.#path(id)}.part`, this.#path(id));
    const conversation = replay(id, records, () => true);
    const open = { conversation, lines: new JsonLines(this.#path(id), { durable: false }), writers: 1 };
    this.#held.set(id, { loaded: Promise.resolve(open), holders: 1 });
    return open;
  }
}

/** The turn that an input would begin, not yet part of the conversation. */
export function nextTurn(conversation: Conversation, input: { attemptId: string; context: string[]; message: string }): Turn {
  const { attemptId, context, message } = input;
  const id = turnId(conversation.id, conversation.made + 1);
  return { id, attemptId, inherited: false, context, message, items: [], ending: null };
}
