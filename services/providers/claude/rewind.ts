import type { Rewind } from "../contract.ts";
import { failure } from "./failure.ts";
import { activeBranch, isInput, turnOf } from "./session-file.ts";
import { inputIdOf } from "./user-message.ts";

/**
 * The entry that a session is to be opened at, so that `keep` is there and nothing after it; null where nothing comes after it.
 * The session itself parts there when the next input is written down: until then it is as it was, and this may be asked again.
 * Rejects with a `ProviderFailure` that is `rewindRefused` where the turn that is to stay is not on the branch that the session
 * goes on with (a compaction cuts it off, too), or where an input that is not named in `drop` would go.
 */
export async function rewindPoint(path: string, { keep, drop }: Rewind): Promise<string | null> {
  const branch = await activeBranch(path);
  const last = await lastOf(path, keep);
  const at = last === null ? -1 : branch.findIndex(({ uuid }) => uuid === last);
  if (last === null || at === -1) throw refused("Claude's session has no turn for the point that it is to be taken back to.");
  const dropped = new Set(drop.flatMap(({ attemptId }) => (attemptId === null ? [] : [inputIdOf(attemptId)])));
  const inputs = branch.slice(at + 1).filter(isInput);
  const stranger = inputs.find(({ uuid }) => !dropped.has(uuid ?? ""));
  if (stranger !== undefined) throw refused(`The input ${stranger.uuid} was not given here, and is newer than what is to stay.`);
  return inputs.length === 0 ? null : last;
}

async function lastOf(path: string, { turnRef, attemptId }: Rewind["keep"]): Promise<string | null> {
  if (turnRef?.strength === "strong") return turnRef.id;
  return attemptId === null ? null : ((await turnOf(path, inputIdOf(attemptId)))?.last ?? null);
}

function refused(message: string) {
  return failure("native_rewind_refused", message, "Send again: the conversation is then forked, or told to a new one.", {
    rewindRefused: true,
  });
}
