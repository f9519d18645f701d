import type { LookupAnswer, LookupQuery } from "../contract.ts";
import { sessionFile, sessionFilesSince, turnOf } from "./session-file.ts";
import { inputIdOf } from "./user-message.ts";

/** The clock of the file system may be a little behind ours. */
const leewayMs = 5_000;

/**
 * What became of an input. Claude writes it down, under our id, at about the time when it asks the model, and the process that
 * was given it is gone when this is asked. So a session that does not have it does not know it and never will, even where the
 * model was asked in the last moment before its process was killed: it may be given again.
 */
export async function lookUp(configDir: string, { nativeRef, attemptId }: LookupQuery): Promise<LookupAnswer> {
  const inputId = inputIdOf(attemptId);
  const found = nativeRef === null ? sessionFilesSince(configDir, madeAt(inputId) - leewayMs) : known(configDir, nativeRef.id);
  if (found === null) return { outcome: "unknown" };
  for (const { id, path } of found) {
    const turn = await turnOf(path, inputId);
    if (turn === null) continue;
    return {
      outcome: "accepted",
      nativeRef: { id, strength: "strong" },
      turnRef: { id: turn.last, strength: "strong" },
      ending: null,
    };
  }
  return { outcome: "absent" };
}

function known(configDir: string, id: string): { id: string; path: string }[] | null {
  const path = sessionFile(configDir, id);
  return path === null ? null : [{ id, path }];
}

/** Milliseconds, as a version 7 uuid has them: no file that was last written before then can hold it. */
function madeAt(uuid: string): number {
  return Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16) || 0;
}
