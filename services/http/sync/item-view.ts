import type { Content, TurnItem } from "../../../schemas/item.ts";
import type { ItemView, ViewText } from "../../../schemas/thread-view.ts";

/** What a command printed and a tool answered is looked at on demand: more characters than this are given by their size. */
const sideChars = 256;
const commandChars = 1_024;
const filesShown = 100;

/** An item as a person looks at it: what was said whole, what was done in a line, and what came of it by its size. */
export function itemView(item: TurnItem): ItemView {
  const { body } = item;
  const about = { id: item.id, kind: body.kind, ...(item.truncated && { truncated: true }) };
  switch (body.kind) {
    case "user_message":
    case "assistant_message":
    case "plan":
    case "error":
      return { ...about, content: said(body.content) } as ItemView;
    case "reasoning":
      return { ...about, kind: body.kind, content: aside(body.content) };
    case "command": {
      const [command, cut] = shortened(body.command);
      return {
        ...about,
        kind: body.kind,
        command,
        ...(body.exitCode !== 0 && { exitCode: body.exitCode }),
        output: aside(body.output),
        ...cut,
      };
    }
    case "file_change": {
      const cut = body.changes.length > filesShown ? { cut: true } : {};
      return { ...about, kind: body.kind, changes: body.changes.slice(0, filesShown), diff: aside(body.diff), ...cut };
    }
    case "tool_call":
      return {
        ...about,
        kind: body.kind,
        tool: body.tool,
        arguments: aside(body.arguments),
        result: aside(body.result),
        ...(!body.ok && { ok: false }),
      };
    case "approval":
      return { ...about, ...body, content: said(body.content) };
    case "approval_answer":
      return { ...about, ...body };
    case "subagent":
      return {
        ...about,
        kind: body.kind,
        ...(body.taskId !== null && { taskId: body.taskId }),
        ...(body.childThreadId !== null && { childThreadId: body.childThreadId }),
        content: said(body.content),
      };
    case "handoff":
      return { ...about, ...body, content: aside(body.content) };
    case "fork_marker": {
      const { sourceRunId, ...rest } = body;
      return { ...about, ...rest, ...(sourceRunId !== null && { sourceRunId }) };
    }
  }
}

/** Words to a person: whole, except what is kept apart because of its size, which is given with its beginning. */
function said(content: Content): ViewText {
  return "text" in content ? content.text : { bytes: content.blob.bytes, begins: content.blob.preview };
}

function aside(content: Content): ViewText {
  if ("blob" in content) return { bytes: content.blob.bytes };
  return content.text.length <= sideChars ? content.text : { bytes: Buffer.byteLength(content.text) };
}

function shortened(command: string): [string, { cut?: true }] {
  if (command.length <= commandChars) return [command, {}];
  return [command.slice(0, commandChars).toWellFormed(), { cut: true }];
}
