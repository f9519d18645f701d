import { basename } from "node:path";
import { Conversation } from "../conversation.ts";
import { type Entry, sessionId, text, time } from "../fields.ts";
import { LineFile } from "../lines.ts";
import { type SessionResult, type Unreadable, unreadable } from "../session.ts";
import { whyOf } from "../walk.ts";
import { Branch, maxNodes } from "./branch.ts";
import { idOf, isClaudeEntry, noteTitle, readMessage, type Said, type Titles } from "./entries.ts";

/**
 * A session of Claude Code, from its file: read twice, first for the tree of its entries, then for the words of the branch that
 * it goes on with. Never throws.
 */
export async function readClaudeSession(path: string): Promise<SessionResult> {
  try {
    await using file = await LineFile.open(path);
    const survey = await surveyOf(file);
    if ("why" in survey) return unreadable(path, survey.kind, { file: path, line: null, why: survey.why });
    const { conversation, titles, facts, branch } = survey;
    await readWords(file, branch, conversation);
    const id = facts.sessionId ?? sessionId(basename(path).replace(/\.jsonl$/, ""));
    if (id === null) return unreadable(path, "unreadable", { file: path, line: null, why: "it does not say which session it is" });
    if (conversation.isEmpty)
      return unreadable(path, conversation.problems.length > 0 ? "unreadable" : "empty", ...conversation.problems, {
        file: path,
        line: null,
        why: "it holds no messages",
      });
    return {
      ok: true,
      session: {
        agent: "claude",
        id,
        file: path,
        folder: facts.folder,
        version: facts.version,
        title: (titles.given ?? titles.made ?? "").trim() || conversation.firstWords,
        turns: conversation.turns,
        messages: conversation.messages(),
        position: conversation.position,
        changedAt: facts.changedAt ?? file.changedAt,
        leftOut: conversation.leftOut,
        problems: conversation.problems,
        startedBy: "person",
      },
    };
  } catch (error) {
    return unreadable(path, "unreadable", { file: path, line: null, why: whyOf(error) });
  }
}

type Facts = { sessionId: string | null; folder: string | null; version: string | null; changedAt: number | null };
type Survey = { branch: Branch; conversation: Conversation; titles: Titles; facts: Facts };

async function surveyOf(file: LineFile): Promise<Survey | { kind: Unreadable["kind"]; why: string }> {
  const branch = new Branch();
  const conversation = new Conversation();
  const titles: Titles = { given: null, made: null };
  const facts: Facts = { sessionId: null, folder: null, version: null, changedAt: null };
  let known = false;
  let sidechain = 0;
  for await (const read of file.lines()) {
    if ("why" in read) {
      conversation.cannotRead({ file: file.path, line: read.line, why: read.why });
      branch.gap();
      continue;
    }
    const { value } = read;
    known ||= isClaudeEntry(value);
    if (value.isSidechain === true) sidechain += 1;
    branch.add(value, read.line);
    if (branch.size > maxNodes) return { kind: "unreadable", why: `it has more than ${maxNodes} entries` };
    noteTitle(titles, value, (uuid) => branch.has(uuid));
    noteFacts(facts, value);
  }
  if (!known) return { kind: "unreadable", why: "it holds nothing that Claude Code writes" };
  if (branch.size === 0 && sidechain > 0) return { kind: "subagent", why: "it is a subagent's own conversation" };
  return { branch, conversation, titles, facts };
}

function noteFacts(facts: Facts, value: Entry): void {
  // A fork's file may begin with entries of the session that it was made of.
  facts.sessionId = sessionId(value.sessionId) ?? facts.sessionId;
  facts.changedAt = time(value.timestamp) ?? facts.changedAt;
  if (value.isSidechain === true) return;
  // A session may move between folders; it is continued in the one that it was begun in.
  facts.folder ??= text(value.cwd);
  facts.version = text(value.version) ?? facts.version;
}

/** A command that somebody typed is kept back until it is known whether the program itself answered it. */
type Typed = { said: Said; at: number | null; position: string };

async function readWords(file: LineFile, branch: Branch, conversation: Conversation): Promise<void> {
  const { lines, summary, missing } = branch.active();
  const told = new Set<string>();
  let typed: Typed | null = null;
  if (missing !== null)
    conversation.cannotRead({
      file: file.path,
      line: missing.line,
      why: `what was said before it is not in this file (it follows ${missing.uuid})`,
    });
  for await (const read of file.lines()) {
    if (!("value" in read) || !lines.has(read.line)) continue;
    const { value, line } = read;
    if (value.type !== "user" && value.type !== "assistant") continue;
    const uuid = idOf(value);
    // What a compaction keeps is written again after it.
    if (uuid !== null && told.has(uuid)) continue;
    if (uuid !== null) told.add(uuid);
    const isSummary = value.isCompactSummary === true || summary.has(line);
    if (value.isMeta === true && !isSummary) continue;
    const said = readMessage(value);
    if ("why" in said) {
      conversation.cannotRead({ file: file.path, line, why: said.why });
      continue;
    }
    if (isSummary && !summary.has(line)) continue;
    conversation.leftOut.toolCalls += said.toolCalls;
    conversation.leftOut.attachments += said.attachments;
    if (typed !== null && said.kind !== "output") add(typed);
    typed = null;
    if (isSummary) said.kind = "summary";
    const message: Typed = { said, at: time(value.timestamp), position: uuid ?? `line:${line}` };
    if (said.kind === "command") typed = message;
    else if (said.kind !== "output") add(message);
  }
  if (typed !== null) add(typed);

  function add({ said, at, position }: Typed): void {
    conversation.add({ role: said.role, text: said.text, createdAt: at }, position, said.kind !== "summary");
  }
}
