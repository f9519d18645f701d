import { textOf } from "../content.ts";
import type { TurnEvent } from "../contract.ts";
import { callBody } from "./items.ts";
import type { Block, Frame } from "./protocol.ts";

/** The calls of one turn: told when their result comes, or at the turn's end as the pieces that they are. */
export class OpenCalls {
  readonly #cwd: string;
  readonly #open = new Map<string, Block>();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  opened(block: Block): void {
    if (block.id !== undefined) this.#open.set(block.id, block);
  }

  /** The results in a message, as events. */
  closed({ message, tool_use_result: output }: Frame): TurnEvent[] {
    if (!Array.isArray(message?.content)) return [];
    const results = message.content.filter(({ type, tool_use_id: id }) => type.endsWith("tool_result") && id !== undefined);
    return results.flatMap((result): TurnEvent[] => {
      const block = this.#open.get(result.tool_use_id ?? "");
      if (block === undefined) return [];
      this.#open.delete(result.tool_use_id ?? "");
      const text = textOf(result.content).replace(/^<tool_use_error>([\s\S]*)<\/tool_use_error>$/, "$1");
      // One message, one output: which of several results it belongs to cannot be said.
      const own = results.length === 1 ? output : undefined;
      const body = callBody({ block, cwd: this.#cwd, result: text, ok: result.is_error !== true, output: own });
      return [body === null ? { type: "alive" } : { type: "item", body, nativeId: block.id ?? null }];
    });
  }

  /** What is left: calls that nobody heard the end of. */
  cutOff(): TurnEvent[] {
    const left = [...this.#open.values()];
    this.#open.clear();
    return left.flatMap((block): TurnEvent[] => {
      const body = callBody({ block, cwd: this.#cwd, result: "", ok: false, output: undefined });
      return body === null ? [] : [{ type: "item", body, nativeId: block.id ?? null, truncated: true }];
    });
  }
}
