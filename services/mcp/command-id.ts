import { z } from "zod";
import type { CommandId } from "../../schemas/ids.ts";
import { callerName, type ToolCaller } from "./access.ts";

/** A caller's own name for one action. The same again does nothing and answers as the first time. */
export const ClientRequestId = z
  .string()
  .max(128)
  .regex(/^[\x21-\x7e]+$/, "printable ASCII without spaces, up to 128 characters");

/** `cmd:<caller>:<clientRequestId>` (decision 18). */
export function commandId(caller: ToolCaller, clientRequestId: string): CommandId {
  return `cmd:${callerName(caller)}:${clientRequestId}` as CommandId;
}
