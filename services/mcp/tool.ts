import type { z } from "zod";
import type { AccessKind } from "../../schemas/access.ts";
import type { PublicCommand } from "../../schemas/command.ts";
import type { ResultOf } from "../../schemas/results.ts";
import type { Environment } from "../runtime/environment-api.ts";
import type { Sight, ToolCaller } from "./access.ts";

/** What a tool works with: one call of one caller. */
export interface ToolContext {
  readonly environment: Environment;
  readonly caller: ToolCaller;
  readonly sight: Sight;
  /** Aborted when the caller does not wait any more. It ends waiting, never the work. */
  readonly signal: AbortSignal;
  /** Says how far a long call is, where the caller asked to be told. `done` and `total` in seconds. */
  progress(done: number, total: number, message: string): void;
  /**
   * Dispatches for the caller, as `cmd:<caller>:<clientRequestId>`; without an id (an import, whose key is its own) under a
   * fresh one. Throws the refusal of a refused command.
   */
  dispatch<C extends PublicCommand>(command: C, clientRequestId: string | null): Promise<Done<C>>;
}

export type Done<C extends PublicCommand> = { result: ResultOf[C["type"]]; repeated: boolean };

/** What a host may tell its user about a tool before it is called. */
type Hints = {
  /** It can undo or stop work. */
  destructive?: boolean;
  /** It makes an agent work, which reaches beyond this environment. */
  openWorld?: boolean;
};

export interface Tool<I extends z.ZodObject = z.ZodObject, O extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** For the model that may call it. */
  readonly description: string;
  readonly access: AccessKind;
  readonly hints: Hints;
  readonly input: I;
  readonly output: O;
  run(args: z.output<I>, context: ToolContext): Promise<z.input<O>> | z.input<O>;
}

/** A tool whose shapes only it knows. */
export type AnyTool = Tool<z.ZodObject, z.ZodObject>;

export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(tool: Tool<I, O>): AnyTool {
  return tool as unknown as AnyTool;
}
