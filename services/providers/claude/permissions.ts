import { wellFormed } from "../content.ts";
import { approvalAnswers } from "../contract.ts";
import type { PermissionAnswer, PermissionRequest } from "./protocol.ts";

/** A request of Claude to a person, and how an answer of ours reads there. */
export type Ask = {
  question: "command" | "file_change" | "permission" | "question";
  text: string;
  options: string[];
  /** Whether an answer besides the options is taken. */
  open: boolean;
  reply(answer: string): PermissionAnswer;
};

type UserQuestion = { question: string; header?: string; options?: { label: string; description?: string }[]; multiSelect?: boolean };

/** What a request asks a person. */
export function readAsk(request: PermissionRequest, cwd: string): Ask {
  const { tool, input, description, reason } = request;
  const text = (name: string) => (typeof input[name] === "string" ? (input[name] as string) : undefined);
  switch (tool) {
    case "AskUserQuestion":
      return questionAsk(request);
    case "Bash":
    case "PowerShell":
      return approval(request, "command", lines(text("command"), `in ${cwd}`, text("description") ?? description, reason));
    case "Edit":
      return approval(request, "file_change", lines(`update ${text("file_path")}`, removed(text("old_string")), added(text("new_string"))));
    case "Write":
      return approval(request, "file_change", lines(`write ${text("file_path")}`, added(text("content"))));
    case "NotebookEdit":
      return approval(request, "file_change", lines(`update ${text("notebook_path")}`, added(text("new_source"))));
    default:
      return approval(request, "permission", lines(request.title ?? `Use ${tool}`, description, reason, JSON.stringify(input, null, 2)));
  }
}

function approval(request: PermissionRequest, question: Ask["question"], text: string): Ask {
  const options = approvalAnswers.filter((answer) => answer !== "accept_for_session" || request.onceOnly !== true);
  return { question, text, options, open: false, reply: (answer) => approvalReply(request, answer) };
}

function approvalReply({ tool, input, suggestions = [] }: PermissionRequest, answer: string): PermissionAnswer {
  switch (answer) {
    case "accept":
      return { behavior: "allow", updatedInput: input };
    case "accept_for_session": {
      const rules = suggestions.length > 0 ? suggestions : [{ type: "addRules", behavior: "allow", rules: [{ toolName: tool }] }];
      // Never into the user's or the project's settings.
      return { behavior: "allow", updatedInput: input, updatedPermissions: rules.map((rule) => ({ ...rule, destination: "session" })) };
    }
    case "cancel":
      return { behavior: "deny", message: "The person cancelled this.", interrupt: true };
    default:
      return { behavior: "deny", message: "The person declined this. Go on without it, or ask what to do instead." };
  }
}

/** One question takes its answer as it stands; several take a JSON object from question (or its heading) to answer. */
function questionAsk({ input }: PermissionRequest): Ask {
  const questions = (Array.isArray(input.questions) ? input.questions : []) as UserQuestion[];
  const only = questions.length === 1 ? questions[0] : undefined;
  const text = questions.map(questionText).join("\n\n");
  return {
    question: "question",
    text: only ? text : `${text}\n\nAnswer with a JSON object from heading to answer.`,
    options: only?.options?.map(({ label }) => wellFormed(label)) ?? [],
    open: true,
    reply: (answer) => {
      const given = only ? null : jsonObject(answer);
      const answers = questions.map(({ question, header }) => [question, given?.[question] ?? given?.[header ?? ""] ?? answer]);
      return { behavior: "allow", updatedInput: { ...input, answers: Object.fromEntries(answers) } };
    },
  };
}

function questionText({ header, question, options, multiSelect }: UserQuestion): string {
  const choices = options?.map(({ label, description }) => `- ${label}${description ? `: ${description}` : ""}`) ?? [];
  const head = [header, question].filter(Boolean).join(": ");
  return lines(multiSelect ? `${head} (several may be chosen)` : head, ...choices);
}

function jsonObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

const marked = (mark: string) => (text: string | undefined) =>
  text
    ?.split("\n")
    .map((line) => `${mark}${line}`)
    .join("\n");
const removed = marked("-");
const added = marked("+");

function lines(...parts: (string | null | undefined | false)[]): string {
  return wellFormed(parts.filter(Boolean).join("\n"));
}
