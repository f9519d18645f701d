import { z } from "zod";
import { InteractionMode, RuntimeMode } from "../../schemas/modes.ts";
import { type ProviderChoice, ProviderInstanceId } from "../../schemas/provider.ts";
import { Text } from "../../schemas/text.ts";
import { ClientRequestId } from "./command-id.ts";
import { refuse } from "./refused.ts";

/** Members that several tools take. A description is given only where the name does not say it. */
export const clientRequestId = ClientRequestId;
export const modes = { runtimeMode: RuntimeMode.optional(), interactionMode: InteractionMode.optional() };
export const servedBy = { provider: ProviderInstanceId.optional(), model: Text.min(1).max(200).optional() };
export const limitOf = (most: number) => z.int().min(1).max(most).optional();
export const secondsOf = (most: number) => z.number().min(0).max(most).optional();

/** Two flat members as the vocabulary's one. */
export function providerChoice(given: { provider?: string | undefined; model?: string | undefined }): { provider?: ProviderChoice } {
  if (given.provider !== undefined) return { provider: { instance: given.provider, model: given.model ?? null } };
  if (given.model === undefined) return {};
  refuse("invalid_request", "model_without_provider", "a model is named without its provider", "Name the provider, too.");
}

/** What is there, without the members that nobody gave. */
export function given<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
