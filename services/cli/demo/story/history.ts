import type { TransferStatus } from "../../../../schemas/transfer.ts";
import type { TransferStep } from "../../../runtime/environment-api.ts";

/** The statuses that a transfer had, each once, in order: claims and releases in between change none. */
export function statusesOf(history: readonly TransferStep[]): TransferStatus[] {
  const statuses: TransferStatus[] = [];
  for (const { to } of history) if (statuses.at(-1) !== to) statuses.push(to);
  return statuses;
}
