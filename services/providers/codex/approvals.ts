import { wellFormed } from "../content.ts";
import { approvalAnswers } from "../contract.ts";
import { diffOf } from "./items.ts";
import type { AskFrame, CodexItem, UserQuestion } from "./protocol.ts";

/** A request of Codex to a person, and how an answer of ours reads there. */
export type Ask = {
  question: "command" | "file_change" | "permission" | "question";
  text: string;
  options: string[];
  /** Whether an answer besides the options is taken. */
  open: boolean;
  /** The result to send. `interrupt` where Codex has no word for "and stop". */
  reply(answer: string): { result: unknown; interrupt: boolean };
};

const decisions: Record<string, string> = {
  accept: "accept",
  accept_for_session: "acceptForSession",
  decline: "decline",
  cancel: "cancel",
};

/**
 * What a request of Codex asks, or null for one that no person can answer. `item` is the item that it is about, as far as
 * it has been told.
 */
export function readAsk(method: string, frame: AskFrame, item: CodexItem | undefined): Ask | null {
  switch (method) {
    case "item/commandExecution/requestApproval":
      return approval("command", lines(frame.command ?? item?.command ?? "A command", frame.cwd && `in ${frame.cwd}`, frame.reason));
    case "item/fileChange/requestApproval":
      return approval(
        "file_change",
        lines(diffOf(item?.changes ?? []), frame.grantRoot && `write access below ${frame.grantRoot}`, frame.reason),
      );
    case "item/permissions/requestApproval":
      return permissionAsk(frame);
    case "item/tool/requestUserInput":
      return questionAsk(frame.questions ?? []);
    case "mcpServer/elicitation/request":
      return elicitationAsk(frame);
    default:
      return null;
  }
}

function approval(question: "command" | "file_change", text: string): Ask {
  return {
    question,
    text,
    options: [...approvalAnswers],
    open: false,
    reply: (answer) => ({ result: { decision: decisions[answer] ?? "decline" }, interrupt: false }),
  };
}

/** A decline grants nothing. */
function permissionAsk({ permissions = {}, reason }: AskFrame): Ask {
  const granted = Object.fromEntries(Object.entries(permissions).filter(([, wanted]) => wanted !== null));
  return {
    question: "permission",
    text: lines(reason, JSON.stringify(granted, null, 2)),
    options: [...approvalAnswers],
    open: false,
    reply: (answer) => {
      const yes = answer === "accept" || answer === "accept_for_session";
      const result = { permissions: yes ? granted : {}, scope: answer === "accept_for_session" ? "session" : "turn" };
      return { result, interrupt: answer === "cancel" };
    },
  };
}

/** One question takes its answer as it stands; several take a JSON object from question id to answer. */
function questionAsk(questions: UserQuestion[]): Ask {
  const only = questions.length === 1 ? questions[0] : undefined;
  const text = questions.map((asked) => (only ? "" : `${asked.id}: `) + questionText(asked)).join("\n\n");
  return {
    question: "question",
    text: only ? text : `${text}\n\nAnswer with a JSON object from id to answer.`,
    options: only?.options?.map(({ label }) => label) ?? [],
    open: true,
    reply: (answer) => {
      const given = only ? { [only.id]: answer } : (jsonObject(answer) ?? Object.fromEntries(questions.map(({ id }) => [id, answer])));
      const answers = Object.fromEntries(Object.entries(given).map(([id, value]) => [id, { answers: [String(value)] }]));
      return { result: { answers }, interrupt: false };
    },
  };
}

function questionText({ header, question, options }: UserQuestion): string {
  const choices = options?.map(({ label, description }) => `- ${label}${description ? `: ${description}` : ""}`) ?? [];
  return lines([header, question].filter(Boolean).join(": "), ...choices);
}

/** An app server asks: `accept`, `decline`, `cancel`, or a JSON object with what its form wants. */
function elicitationAsk({ serverName, message, title, description, url }: AskFrame): Ask {
  return {
    question: "question",
    text: lines(`${serverName ?? "A tool server"} asks:`, message ?? title, description, url),
    options: ["accept", "decline", "cancel"],
    open: true,
    reply: (answer) => {
      const form = jsonObject(answer);
      const action = form === null ? (answer === "accept" || answer === "cancel" ? answer : "decline") : "accept";
      return { result: { action, content: form ?? (action === "accept" && url === undefined ? {} : null), _meta: null }, interrupt: false };
    },
  };
}

function jsonObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function lines(...parts: (string | null | undefined | false)[]): string {
  return wellFormed(parts.filter(Boolean).join("\n"));
}
