import { randomUUID } from "node:crypto";
import type { ItemBody } from "../../../schemas/item.ts";
import { type Given, InstantProvider } from "../instant-provider.ts";
import type { WireTurn } from "./scenario.ts";

/** What of a frame of the Agent SDK's stream is read here. */
type Block =
  | { type: "text"; text: string }
  | { type: "tool_use"; id: string; name: string; input: Record<string, unknown> }
  | { type: "tool_result"; tool_use_id: string; content: string; is_error: boolean };
type ClaudeFrame =
  | { type: "assistant"; session_id: string; uuid: string; message: { id: string; role: "assistant"; content: Block[] } }
  | { type: "user"; session_id: string; uuid: string; message: { role: "user"; content: Block[] } }
  | { type: "result"; subtype: "success"; session_id: string; is_error: boolean; num_turns: number };

/**
 * A stand-in for the Claude adapter until there is one: every turn is a recorded stream (`frames`), read into the items
 * that the adapter's contract asks for. `next` says what the turn holds.
 */
export function claudeFromFrames(next: () => WireTurn): InstantProvider {
  const provider = new InstantProvider("claude");
  provider.answer = (given) => {
    replay(frames(next()), given);
    return false;
  };
  return provider;
}

function frames({ text, commands, tool }: WireTurn): ClaudeFrame[] {
  const session_id = randomUUID();
  const said = (content: Block[]): ClaudeFrame => ({
    type: "assistant",
    session_id,
    uuid: randomUUID(),
    message: { id: `msg_${randomUUID()}`, role: "assistant", content },
  });
  const called = (name: string, input: Record<string, unknown>, result: string): ClaudeFrame[] => {
    const id = `toolu_${randomUUID()}`;
    const content: Block[] = [{ type: "tool_result", tool_use_id: id, content: result, is_error: false }];
    return [
      said([{ type: "tool_use", id, name, input }]),
      { type: "user", session_id, uuid: randomUUID(), message: { role: "user", content } },
    ];
  };
  return [
    said([{ type: "text", text }]),
    ...commands.flatMap(({ command, output }) => called("Bash", { command, description: "Run a part of the tests" }, output)),
    ...called("mcp__files__search_files", tool.arguments, tool.result),
    { type: "result", subtype: "success", session_id, is_error: false, num_turns: commands.length + 2 },
  ];
}

function replay(stream: readonly ClaudeFrame[], { sink, turnRef }: Given): void {
  const open = new Map<string, Extract<Block, { type: "tool_use" }>>();
  const item = (body: ItemBody, nativeId: string | null) => sink({ type: "item", body, nativeId });
  for (const frame of stream) {
    if (frame.type === "result") {
      sink({ type: "ended", ending: frame.is_error ? "failed" : "completed", error: null, turnRef });
      continue;
    }
    for (const block of frame.message.content) {
      if (block.type === "text") item({ kind: "assistant_message", content: { text: block.text } }, frame.uuid);
      else if (block.type === "tool_use") open.set(block.id, block);
      else {
        const call = open.get(block.tool_use_id);
        if (call !== undefined) item(bodyOf(call, block), call.id);
      }
    }
  }
}

function bodyOf({ name, input }: Extract<Block, { type: "tool_use" }>, result: Extract<Block, { type: "tool_result" }>): ItemBody {
  if (name === "Bash")
    return {
      kind: "command",
      command: String(input.command),
      cwd: null,
      exitCode: result.is_error ? null : 0,
      output: { text: result.content },
    };
  const given = { text: JSON.stringify(input) };
  return { kind: "tool_call", tool: name, arguments: given, result: { text: result.content }, ok: !result.is_error };
}
