import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/** What the demo reads of a line of a scripted provider's record (decision 45). */
const Input = z.object({
  threadId: z.string(),
  runId: z.string(),
  attemptId: z.string(),
  native: z.string(),
  opened: z.enum(["new", "resume", "fork"]),
  context: z.array(z.string()),
  message: z.string(),
});
export type Input = z.infer<typeof Input>;

/** Every input that a scripted instance accepted, oldest first; null where the instance keeps no such record. */
export function readInputs(dir: string, instance: string): Input[] | null {
  let text: string;
  try {
    text = readFileSync(join(dir, "providers", instance, "inputs.jsonl"), "utf8");
  } catch {
    return null;
  }
  // A line that is being written has no newline yet.
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => Input.parse(JSON.parse(line)));
}
