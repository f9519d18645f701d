import { z } from "zod";
import { limits } from "./limits.ts";

/** Text as people and models write it. Lone surrogates are refused: the store would silently keep U+FFFD (decision 15). */
export const Text = z.string().refine((s) => s.isWellFormed(), { error: "text is not well-formed Unicode (a lone surrogate)" });
export const Title = Text.max(limits.titleChars);
/** One message of a person or an agent to a thread. */
export const MessageText = Text.min(1).max(limits.messageChars);
/** Milliseconds since 1970, as the host's clock gave them. Order never rests on it. */
export const Timestamp = z.number().int().nonnegative();
export type Timestamp = z.infer<typeof Timestamp>;
/** Lower-case hex SHA-256. */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/);
