/**
 * The library's door. The vocabulary is behind `ropewalk/schemas`, the machines behind `ropewalk/actors`.
 * A list of names, nothing else; nothing inside imports it.
 */
export type { CommandEnvelope, PublicCommand, Receipt, ResultOf } from "./schemas/command.ts";
export type { EnvironmentConfig } from "./schemas/config.ts";
export type { Change } from "./schemas/feed.ts";
export type { Refusal, RefusalCode } from "./schemas/refusal.ts";
