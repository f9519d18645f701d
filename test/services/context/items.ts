import type { ItemId, RunId, ThreadId } from "../../../schemas/ids.ts";
import type { Content, ItemBody, VisibleItem } from "../../../schemas/item.ts";

const uuid = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
export const itemId = (n: number) => `item:${uuid(n)}` as ItemId;
export const runId = (n: number) => `run:${uuid(n)}` as RunId;
export const threadId = (n: number) => `thread:${uuid(n)}` as ThreadId;

/** Items as a thread shows them, one for each body; a body is given with the ordinal of its run. */
export function history(...bodies: (readonly [run: number, body: ItemBody, more?: Partial<VisibleItem>])[]): VisibleItem[] {
  return bodies.map(([run, body, more], index) => ({
    id: itemId(index + 1),
    threadId: threadId(1),
    runId: run === 0 ? null : runId(run),
    runOrdinal: run,
    position: index + 1,
    nativeId: null,
    truncated: false,
    createdAt: 0,
    inherited: false,
    body,
    ...more,
  }));
}

export const user = (text: string): ItemBody => ({ kind: "user_message", content: { text } });
export const assistant = (text: string): ItemBody => ({ kind: "assistant_message", content: { text } });
export const command = (text: string, output: string, exitCode: number | null = 0): ItemBody => ({
  kind: "command",
  command: text,
  cwd: null,
  exitCode,
  output: { text: output },
});

export const read = (content: Content): string | null => ("text" in content ? content.text : null);
