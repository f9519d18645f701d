import type { CallToolResult } from "@modelcontextprotocol/server";
import type { z } from "zod";
import { refusal } from "../../schemas/refusal.ts";
import { needAccess } from "./access.ts";
import { answered, refusedAnswer } from "./answer.ts";
import { ToolRefused, toldOf } from "./refused.ts";
import type { AnyTool, ToolContext } from "./tool.ts";

/** Calls a tool: whatever is wrong, with the call or with us, is an answer and never an exception. */
export async function callTool(
  tool: AnyTool,
  args: unknown,
  context: ToolContext,
  onError: (error: unknown) => void,
): Promise<CallToolResult> {
  try {
    needAccess(context.caller, tool.access);
    const parsed = tool.input.safeParse(args ?? {});
    if (!parsed.success) return refusedAnswer(malformed(tool, parsed.error));
    return answered(await tool.run(parsed.data, context));
  } catch (error) {
    if (!(error instanceof ToolRefused)) onError(error);
    return refusedAnswer(toldOf(error));
  }
}

function malformed(tool: AnyTool, error: z.ZodError) {
  const issues = error.issues.slice(0, 5).map(({ path, message }) => ({ path: path.map(String).join("."), message }));
  const told = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  // A limit of the contract is named as one.
  const overLimit = error.issues.some(({ code }) => code === "too_big");
  const hint = overLimit ? "Make it shorter; orchestrator_capabilities has the limits." : "Correct the named members; nothing was done.";
  return refusal("invalid_request", overLimit ? "limit_exceeded" : "malformed", `${tool.name}: ${told}`, hint, { issues });
}
