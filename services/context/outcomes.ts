import type { TransferId } from "../../schemas/ids.ts";
import type { ProviderChoice, ProviderThread } from "../../schemas/provider.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { ContextTransfer, TransferInput } from "../../schemas/transfer.ts";
import type { NativePoint } from "./native-fork.ts";
import type { RewindPoint } from "./rewind.ts";

/** What becomes of one pending transfer at a run's start (contract §5). Ordered oldest first. */
export type StartOutcome =
  /** The target provider thread already covers everything. */
  | { outcome: "none"; transferId: TransferId }
  /** `at`: where the source's conversation is forked; null: as `back` of the start says. */
  | { outcome: "native"; transfer: WorkedOn; at: NativePoint | null }
  /** `reuse`: an earlier run of this provider resolved it and ended before consuming it; its artefact still fits. */
  | { outcome: "portable" | "delta"; transfer: WorkedOn; reuse: boolean }
  /** A typed error before provider work starts. `transferId` is null where no single transfer is at fault. */
  | { outcome: "unsupported"; transferId: TransferId | null; error: Refusal };

/**
 * How a native conversation comes to know no more than what stands: taken back in place (`resume` is what it knows then), or
 * forked at the thread's own run `upTo`; what stands after that is told.
 */
export type GoBack = { by: "inPlace"; at: RewindPoint } | { by: "fork"; at: NativePoint & { upTo: number } };

/** A transfer that is there, or one that is made for this start. */
export type WorkedOn = { id: TransferId; input: TransferInput; existing: ContextTransfer | null };

export type StartContext = {
  provider: ProviderChoice;
  outcomes: StartOutcome[];
  /** Transfers to make: a provider handoff, successors of failed ones. */
  create: TransferInput[];
  /** The native conversation to go on with; null: a new one, or a native fork. */
  resume: ProviderThread | null;
  /** It knows what was taken back, and is taken back first; `transferId` is the handoff that fails when that is refused. */
  back: (GoBack & { transferId: TransferId }) | null;
  /** Own runs that the native conversation learns by being told. */
  tells: number[];
  /** True when the start gives it what was before this thread's own runs. */
  tellsBase: boolean;
};
