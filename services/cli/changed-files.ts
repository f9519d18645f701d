import type { ChangedFile } from "../../schemas/checkpoint.ts";
import { oneLine } from "./terminal.ts";

const letters: Record<ChangedFile["change"], string> = { add: "A", update: "M", delete: "D", rename: "R" };

/** Changed files as git's people read them: `M rope.txt`. */
export function fileLines(files: readonly ChangedFile[]): string[] {
  return files.map(({ change, path, from }) => `${letters[change]} ${from === undefined ? "" : `${oneLine(from)} -> `}${oneLine(path)}`);
}
