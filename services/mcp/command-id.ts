import { z } from "zod";
import type { CommandId } from "../../schemas/ids.ts";
import { callerName, type ToolCaller } from "./access.ts";

/** A caller's own name for one action. The same again does nothing and answers as the first time. */
export const ClientRequestId = z
  .string()
  .max(128)
  .regex(/^[\x21-\x7e]+$/, "printable ASCII without spaces, up to 128 characters");

/**
 * `cmd:<caller>:<clientRequestId>`. A tool that needs two commands names the second by a `part`, which stands before the
 * request id, where no request id can reach.
 */
export function commandId(caller: ToolCaller, clientRequestId: string, part?: string): CommandId {
  const name = callerName(caller);
  return `cmd:${part === undefined ? name : `${name}/${part}`}:${clientRequestId}` as CommandId;
}
