import { z } from "zod";

/**
 * What a command or a tool does to this environment, from least to most (docs/access.md):
 * - `reads`: changes nothing;
 * - `writes`: stops, names or marks what is there; starts nothing;
 * - `writes_threads`: makes an agent work, in a thread whose modes are within the caller's;
 * - `starts_threads`: makes a thread, with modes that are within the caller's;
 * - `writes_environment`: changes what the environment itself has.
 */
export const AccessKind = z.enum(["reads", "writes", "writes_threads", "starts_threads", "writes_environment"]);
export type AccessKind = z.infer<typeof AccessKind>;
