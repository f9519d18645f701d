import type { CallToolResult, ReadResourceResult, Server, ServerCapabilities, ServerContext, Tool } from "@modelcontextprotocol/server";
import type { AccessKind } from "../../schemas/access.ts";
import { needAccess, type ToolCaller } from "./access.ts";
import { refusedAnswer } from "./answer.ts";
import { ToolRefused, toldOf } from "./refused.ts";

/** What a program that embeds an environment offers at the same door, beside the environment's own tools and resources. */
export interface McpOffer {
  /** One with a name that the environment has already is passed over. */
  readonly tools?: readonly OfferedTool[];
  /** A resource of the program's, or null for an address that is not its own. */
  readResource?(uri: string): ReadResourceResult | null;
  /** What it offers beyond tools and resources (prompts, completion, logging), whose handlers {@link register} sets. */
  readonly capabilities?: ServerCapabilities;
  /** Called once for each server that is made: one for a session, a stream or a request. */
  register?(server: Server): void;
}

export interface OfferedTool {
  /** As `tools/list` answers it. */
  readonly listed: Tool;
  /** What a caller must have been given to call it. */
  readonly access: AccessKind;
  /** Checks its own arguments. What it throws is answered as an internal error and told to `onError`. */
  call(args: Record<string, unknown>, context: ServerContext): Promise<CallToolResult> | CallToolResult;
}

export function offeredTool(offer: McpOffer | undefined, name: string): OfferedTool | null {
  return offer?.tools?.find(({ listed }) => listed.name === name) ?? null;
}

export async function callOffered(
  tool: OfferedTool,
  args: Record<string, unknown>,
  caller: ToolCaller,
  context: ServerContext,
  onError: (error: unknown) => void,
): Promise<CallToolResult> {
  try {
    needAccess(caller, tool.access);
    return await tool.call(args, context);
  } catch (error) {
    if (!(error instanceof ToolRefused)) onError(error);
    return refusedAnswer(toldOf(error));
  }
}
