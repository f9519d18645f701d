import { LineFile } from "../lines.ts";
import type { CodexNames } from "./read.ts";

/** The names in Codex's index of threads; a later line counts. What is not there or cannot be read names nothing. */
export async function readCodexNames(path: string): Promise<CodexNames> {
  const names = new Map<string, string>();
  try {
    await using file = await LineFile.open(path);
    for await (const line of file.lines()) {
      if (!("value" in line)) continue;
      const { id, thread_name: name } = line.value;
      if (typeof id === "string" && typeof name === "string" && name.trim() !== "") names.set(id, name);
    }
  } catch {
    // Without it sessions are called by their first words.
  }
  return names;
}
