/**
 * The library's door. The vocabulary is behind `ropewalk/schemas`, the machines behind `ropewalk/actors`.
 * A list of names, nothing else; nothing inside imports it.
 */
export type { Caller, CommandEnvelope, PublicCommand, Receipt } from "./schemas/command.ts";
export type { EnvironmentConfig, HttpConfig } from "./schemas/config.ts";
export type { Change } from "./schemas/feed.ts";
export type { Refusal, RefusalCode } from "./schemas/refusal.ts";
export type { ResultOf } from "./schemas/results.ts";
export { createEnvironment, type EnvironmentLog, type EnvironmentOptions } from "./services/environment.ts";
export { createHttpApp, type HttpAppOptions } from "./services/http/app.ts";
export type { McpOffer, OfferedTool } from "./services/mcp/offer.ts";
export {
  type LookupAnswer,
  type LookupQuery,
  type OpenSession,
  type ProviderAdapter,
  ProviderFailure,
  type ProviderSession,
  type TurnEvent,
  type TurnInput,
  type TurnSink,
} from "./services/providers/contract.ts";
export {
  CommandRefused,
  type DispatchOptions,
  type DurableActorRef,
  type DurableSnapshot,
  type Environment,
  type Health,
  type LinkView,
} from "./services/runtime/environment-api.ts";
export { type Served, type ServeOptions, serveEnvironment } from "./services/serving.ts";
