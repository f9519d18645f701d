import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { Content, VisibleItem } from "../../schemas/item.ts";
import type { ProviderChoice } from "../../schemas/provider.ts";
import type { Environment } from "../../services/runtime/environment-api.ts";
import type { TestEnvironment } from "./environments.ts";

/** A rule of a scripted provider that answers `<name>?` with the first match in all that its conversation knows. */
export const recalls = (name: string, pattern: string) => ({ match: { contains: `${name}?` }, steps: [{ recall: pattern }] });

/** What the agent said in a run, its last message; null when it said nothing. */
export function answerIn(env: Environment, threadId: ThreadId, runId: RunId): string | null {
  const said = env.threads.items(threadId).filter((item) => item.runId === runId && item.body.kind === "assistant_message");
  return said.length === 0 ? null : textOf(said.at(-1)!);
}

/** What a provider, `p1` unless another is named, answers to a message. */
export async function ask(
  env: TestEnvironment,
  threadId: ThreadId,
  text: string,
  provider: ProviderChoice = { instance: "p1", model: null },
): Promise<string | null> {
  return answerIn(env, threadId, (await env.say(threadId, text, { provider })).id);
}

/** Every message of a thread as a person reads it, inherited ones first: `user: …`, `assistant: …`. */
export function messagesOf(env: Environment, threadId: ThreadId): string[] {
  return env.threads.items(threadId).flatMap((item) => {
    if (item.body.kind === "user_message") return [`user: ${textOf(item)}`];
    if (item.body.kind === "assistant_message") return [`assistant: ${textOf(item)}`];
    return [];
  });
}

function textOf(item: VisibleItem): string {
  const content = (item.body as { content?: Content }).content;
  if (content === undefined) return "";
  return "text" in content ? content.text : content.blob.preview;
}

/** How often a text occurs in another. */
export const times = (text: string, inText: string): number => inText.split(text).length - 1;

/** Everything that was ever written of an actor, as it is stored. */
export const journalOf = (env: Environment, id: string) =>
  env.changes(0, 100_000).filter((change) => change.type === "actor" && change.actorId === id);
