import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../sessions/session.ts";

/** Which session stood beside a number when the list was last shown: `continue 2` means that one for as long as it is the last. */
export type NumberedSession = Pick<Session, "agent" | "id" | "file">;

const fileIn = (dir: string): string => join(dir, "found-sessions.json");

export function rememberNumbers(dir: string, sessions: readonly NumberedSession[]): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = fileIn(dir);
  const kept = sessions.map(({ agent, id, file }) => ({ agent, id, file }));
  writeFileSync(`${path}.new`, JSON.stringify(kept), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Null when no list was shown yet, or it had no such number. */
export function numbered(dir: string, number: number): NumberedSession | null {
  try {
    const kept = JSON.parse(readFileSync(fileIn(dir), "utf8")) as NumberedSession[];
    return kept[number - 1] ?? null;
  } catch {
    return null;
  }
}
