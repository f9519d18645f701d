import type { NativeRef, ProviderCapabilities, RefStrength } from "../../../schemas/provider.ts";
import type { Script } from "./script.ts";

const defaults: ProviderCapabilities = {
  nativeFork: "turn",
  rewind: "viaFork",
  contextInjection: "text",
  writerLock: false,
  processModel: "shared",
  appTools: "none",
  steering: false,
  interrupt: true,
  approvals: true,
  subagents: false,
  identity: { thread: "strong", turn: "strong", item: "strong" },
  contextWindow: null,
};

/** What a script says that its provider can do, over the defaults. */
export function capabilitiesOf(script: Script): ProviderCapabilities {
  const { refuseFork: _fork, refuseRewind: _rewind, identity, ...declared } = script.capabilities ?? {};
  return { ...defaults, ...declared, identity: { ...defaults.identity, ...identity } };
}

export function nativeRef(id: string, strength: RefStrength): NativeRef {
  return { id, strength };
}

/** A turn's ref, or null where the provider is said to have none. */
export function turnRef(id: string, capabilities: ProviderCapabilities): NativeRef | null {
  return capabilities.identity.turn === "none" ? null : nativeRef(id, capabilities.identity.turn);
}
