import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readSession } from "../../../services/sessions/read.ts";
import type { Session, Unreadable } from "../../../services/sessions/session.ts";

export const fixtures = fileURLToPath(new URL("../../fixtures/sessions/", import.meta.url));

/** The recorded session files of a program's version, by name. */
export function recorded(version: string): string[] {
  const names = readdirSync(join(fixtures, version), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".jsonl") && name.includes("/"))
    .sort()
    .map((name) => join(fixtures, version, name));
}

/** The one recorded file whose text has all these words. */
export async function sessionWith(version: string, words: string): Promise<Session> {
  for (const file of recorded(version)) {
    const read = await readSession(file);
    if (read.ok && said(read.session).join("\n").includes(words)) return read.session;
  }
  throw new Error(`no session of ${version} says ${words}`);
}

export async function read(file: string): Promise<Session> {
  const result = await readSession(file);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.session;
}

export async function refused(file: string): Promise<Unreadable> {
  const result = await readSession(file);
  if (result.ok) throw new Error(`it was read: ${JSON.stringify(result.session)}`);
  return result;
}

export const said = ({ messages }: Session): string[] => messages.map((message) => `${message.role}: ${message.text}`);

/** Writes lines, objects as JSON, strings as they are; each ended by a newline but for a last one that is cut. */
export function put(file: string, lines: (object | string)[], cutLast = false): string {
  mkdirSync(dirname(file), { recursive: true });
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  writeFileSync(file, cutLast ? text : `${text}\n`);
  return file;
}

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** Lines of a Codex session as version 0.60 writes them. */
export const codex = {
  meta: (id: string, more: object = {}) => ({
    timestamp: at(0),
    type: "session_meta",
    payload: { id, cwd: "/workspace", cli_version: "0.60.1", ...more },
  }),
  user: (message: string, second = 1) => ({ timestamp: at(second), type: "event_msg", payload: { type: "user_message", message } }),
  agent: (message: string, second = 2) => ({ timestamp: at(second), type: "event_msg", payload: { type: "agent_message", message } }),
};

/** Entries of a Claude Code session; each follows the one before unless a parent is named. */
export function claude(sessionId: string, folder = "/workspace") {
  let last: string | null = null;
  let count = 0;
  const entry = (type: "user" | "assistant", content: unknown, more: object = {}) => {
    count += 1;
    const uuid = `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
    const made = {
      parentUuid: last,
      type,
      uuid,
      sessionId,
      cwd: folder,
      version: "2.1.0",
      timestamp: at(count),
      message: { role: type, content },
      ...more,
    };
    last = uuid;
    return made;
  };
  return {
    user: (text: unknown, more?: object) => entry("user", text, more),
    agent: (text: string, more?: object) => entry("assistant", [{ type: "text", text }], more),
  };
}
