import type { IncarnationId, LinkId } from "../../schemas/ids.ts";
import { LinkControl } from "../../schemas/wire.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { LinkLedger } from "../runtime/ports/link-ledger.ts";
import type { LinkChannel, LinkTransport } from "../runtime/ports/link-transport.ts";
import type { DeliveryOptions } from "./delivery-options.ts";
import type { LinkSeal } from "./envelope.ts";
import type { LinkStatistics } from "./statistics.ts";

/** Where the service says what happened; a pino logger fits. */
export interface LinkLog {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
}

export const silentLog: LinkLog = { debug() {}, info() {}, warn() {} };

/** What the parts of one link's delivery share: this side of it. */
export type LinkSide = {
  linkId: LinkId;
  incarnation: IncarnationId;
  /** Our direction and the peer's. */
  out: LinkChannel;
  in: LinkChannel;
  seal: LinkSeal;
  transport: LinkTransport;
  ledger: LinkLedger;
  clock: Clock;
  log: LinkLog;
  options: DeliveryOptions;
  statistics: LinkStatistics;
};

/** Sends an unnumbered message. False when the fabric did not take it: it is sent again when there is reason to. */
export async function sendControl(side: LinkSide, control: LinkControl): Promise<boolean> {
  if (side.statistics.transport !== "connected") return false;
  try {
    const head = {
      incarnation: side.incarnation,
      commit: 0,
      epoch: side.ledger.state(side.linkId).sent.epoch,
      number: 0,
      kind: "control" as const,
      requestId: null,
      sentAt: side.clock.now(),
      carries: "body" as const,
      trace: null,
    };
    await side.transport.publish(side.out, side.seal.seal([{ head, body: Buffer.from(JSON.stringify(control)) }]));
    return true;
  } catch (error) {
    side.log.debug({ linkId: side.linkId, type: control.type, error: String(error) }, "control message not sent");
    return false;
  }
}

/** An unnumbered message; null for one of a kind that is not known here. */
export function readControl(body: Buffer): LinkControl | null {
  try {
    const control = LinkControl.safeParse(JSON.parse(body.toString()));
    return control.success ? control.data : null;
  } catch {
    return null;
  }
}
