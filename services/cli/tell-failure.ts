import type { Refusal } from "../../schemas/refusal.ts";
import { oneLine, styleError } from "./terminal.ts";

/** What went wrong and what to do, on standard error. */
export function tellFailure({ message, hint }: Refusal): void {
  process.stderr.write(`${styleError("red", "error:")} ${oneLine(message)}\n`);
  if (hint !== "") process.stderr.write(`${styleError("dim", "hint:")} ${oneLine(hint)}\n`);
}
