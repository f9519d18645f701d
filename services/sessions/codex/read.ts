import { Conversation } from "../conversation.ts";
import { LineFile } from "../lines.ts";
import { type Problem, type SessionResult, unreadable } from "../session.ts";
import { whyOf } from "../walk.ts";
import type { RolloutFiles } from "./files.ts";
import { type RolloutHead, RolloutReader, readHead } from "./rollout.ts";

/** A thread that goes back, and a fork, go on in a file of their own that refers to the one before; so many at most. */
const maxFiles = 1_000;

/** Names that people gave to threads, by the thread's id. */
export type CodexNames = ReadonlyMap<string, string>;

/** A Codex session, from the file that it goes on in and those that this refers to. Never throws. */
export async function readCodexSession(path: string, files: RolloutFiles, names: CodexNames): Promise<SessionResult> {
  const opened: LineFile[] = [];
  try {
    const chain = await chainOf(path, files, opened);
    if ("why" in chain) return unreadable(path, "unreadable", chain);
    const conversation = new Conversation();
    const reader = new RolloutReader(conversation);
    for (const { file, end } of chain.parts.toReversed()) await readPart(file, end, reader, conversation);
    const { head, newest } = chain;
    if (conversation.isEmpty) {
      const why = reader.untold > 0 ? "its messages are in a form that is not known" : "it holds no messages";
      const kind = reader.untold > 0 || conversation.problems.length > 0 ? "unreadable" : "empty";
      return unreadable(path, kind, ...conversation.problems, { file: path, line: null, why });
    }
    return {
      ok: true,
      session: {
        agent: "codex",
        id: head.id,
        file: path,
        folder: head.folder,
        version: head.version,
        title: names.get(head.id) ?? conversation.firstWords,
        turns: conversation.turns,
        messages: conversation.messages(),
        position: conversation.position,
        changedAt: reader.changedAt ?? newest.changedAt,
        leftOut: conversation.leftOut,
        problems: conversation.problems,
        startedBy: head.startedBy,
      },
    };
  } catch (error) {
    return unreadable(path, "unreadable", { file: path, line: null, why: whyOf(error) });
  } finally {
    for (const file of opened) await file[Symbol.asyncDispose]();
  }
}

type Part = { file: LineFile /** Entries from this number on are not part of the session. */; end: number };
type Chain = { head: RolloutHead; newest: LineFile; parts: Part[] };

/** The files that hold the session, newest first. */
async function chainOf(path: string, files: RolloutFiles, opened: LineFile[]): Promise<Chain | Problem> {
  const parts: Part[] = [];
  let head: RolloutHead | null = null;
  let next: { path: string; end: number } | null = { path, end: Number.POSITIVE_INFINITY };
  const seen = new Set<string>();
  while (next !== null) {
    const { path: at, end }: { path: string; end: number } = next;
    if (seen.has(at) || seen.size >= maxFiles) return { file: at, line: null, why: "the files that it refers to lead in a circle" };
    seen.add(at);
    const file: LineFile = await LineFile.open(at);
    opened.push(file);
    const own = await headOf(file);
    if (own === null) return { file: at, line: 1, why: "it does not begin as a session of Codex does" };
    parts.push({ file, end });
    head ??= own;
    if (own.base === null) break;
    const before = files.withId(own.base.fileId);
    if (before === null || !Number.isSafeInteger(own.base.end))
      return { file: at, line: 1, why: `what was said before is in another session's file, which is not there (${own.base.fileId})` };
    next = { path: before, end: Math.min(end, own.base.end) };
  }
  const [newest] = parts;
  if (head === null || newest === undefined) return { file: path, line: null, why: "it holds nothing" };
  return { head, newest: newest.file, parts };
}

async function headOf(file: LineFile): Promise<RolloutHead | null> {
  for await (const line of file.lines()) return "value" in line ? readHead(line.value) : null;
  return null;
}

async function readPart(file: LineFile, end: number, reader: RolloutReader, conversation: Conversation): Promise<void> {
  for await (const read of file.lines()) {
    const { line } = read;
    if ("value" in read && typeof read.value.ordinal === "number" && read.value.ordinal >= end) return;
    const why = "why" in read ? read.why : reader.read(read.value, line);
    if (why !== null) conversation.cannotRead({ file: file.path, line, why });
  }
}
