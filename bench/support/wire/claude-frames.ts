import { randomUUID } from "node:crypto";
import { createClaudeAdapter } from "../../../services/providers/claude/adapter.ts";
import type { Agent, StartAgent } from "../../../services/providers/claude/agent.ts";
import type { Block, Frame } from "../../../services/providers/claude/protocol.ts";
import type { Exit } from "../../../services/providers/claude/spawn.ts";
import type { ProviderAdapter } from "../../../services/providers/contract.ts";
import type { WireTurn } from "./scenario.ts";

/** The Claude adapter with its program's stream played: `next` says what each turn holds. */
export function claudeFromFrames(stateDir: string, next: () => WireTurn): ProviderAdapter {
  const config = { kind: "claude" as const, home: stateDir, env: { HOME: stateDir } };
  return createClaudeAdapter({ instance: "claude", config, stateDir, startAgent: played(next) });
}

function played(next: () => WireTurn): StartAgent {
  return (): Agent => {
    const exited = Promise.withResolvers<Exit>();
    const waiting: Frame[] = [];
    let over = false;
    let wake: () => void = () => {};
    const end = () => {
      over = true;
      exited.resolve({ code: 0, signal: null, stderr: "" });
      wake();
    };
    return {
      frames: (async function* () {
        for (;;) {
          for (let frame = waiting.shift(); frame !== undefined; frame = waiting.shift()) yield frame;
          if (over) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      })(),
      ready: Promise.resolve(),
      send: ({ uuid }) => {
        waiting.push(...frames(next(), uuid));
        wake();
      },
      interrupt: async () => {},
      endInput: end,
      kill: end,
      exited: exited.promise,
    };
  };
}

function frames({ text, commands, tool }: WireTurn, inputId: string): Frame[] {
  const said = (content: Block[]): Frame => ({ type: "assistant", uuid: randomUUID(), message: { content } });
  const called = (name: string, input: Record<string, unknown>, result: string): Frame[] => {
    const id = `toolu_${randomUUID()}`;
    const content: Block[] = [{ type: "tool_result", tool_use_id: id, content: result, is_error: false }];
    return [said([{ type: "tool_use", id, name, input }]), { type: "user", uuid: randomUUID(), message: { content } }];
  };
  return [
    { type: "command_lifecycle", command_uuid: inputId, state: "started" },
    said([{ type: "text", text }]),
    ...commands.flatMap(({ command, output }) => called("Bash", { command, description: "Run a part of the tests" }, output)),
    ...called("mcp__files__search_files", tool.arguments, tool.result),
    { type: "result", subtype: "success", is_error: false, terminal_reason: "completed", user_message_uuid: inputId },
  ];
}
