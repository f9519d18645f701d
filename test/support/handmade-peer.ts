import type { RequestId } from "../../schemas/ids.ts";
import type { LinkAnswer, LinkBody, LinkRequest } from "../../schemas/wire.ts";
import { createMemoryFabric } from "../../services/links/memory/transport.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { systemIdentifiers } from "../../services/runtime/system-identifiers.ts";
import { until } from "./environments.ts";
import { LinkEnd } from "./link-pair.ts";
import { allGrants, atEnd, LinkedSide, type SideOptions } from "./linked.ts";

/** A peer that says whatever a test wants, sealed and numbered as it should be: real delivery over a store of its own. */
export class HandmadePeer extends LinkEnd {
  /** Commits one message to the other side. */
  say(body: LinkBody | string): void {
    this.ledger.write(this.linkId, body);
  }

  /** Asks under an id, and resolves with the answer to this asking. */
  async ask(requestId: RequestId, request: LinkRequest): Promise<LinkAnswer> {
    const before = this.answers(requestId).length;
    this.say({ type: "request", requestId, request });
    return until(() => this.answers(requestId)[before], `an answer to ${requestId}`);
  }

  /** Everything that was answered to a request, in order. */
  answers(requestId: RequestId): LinkAnswer[] {
    return this.state.applied.flatMap(({ body }) => (body?.type === "answer" && body.requestId === requestId ? [body.answer] : []));
  }

  /** What the other side asked, in order. */
  get asked(): { requestId: RequestId; request: LinkRequest }[] {
    return this.state.applied.flatMap(({ body }) => (body?.type === "request" ? [body] : []));
  }
}

/** An environment with a handmade peer on one link, both running over a fabric in this process. */
export async function withHandmadePeer(options: SideOptions = {}) {
  const fabric = createMemoryFabric({ clock: systemClock });
  const side = new LinkedSide("b", { nats: null, transport: fabric.transport }, options);
  const connect = async (peer: HandmadePeer) => {
    peer.peer = { environmentId: side.id, publicKey: side.publicKey };
    await peer.start(fabric.transport("peer"));
    atEnd(() => peer.stop());
  };
  const pin = (peer: HandmadePeer) => {
    const grants = side.options.grants?.peer ?? allGrants;
    side.links = [{ id: peer.linkId, name: "peer", peer: { environmentId: peer.environmentId, publicKey: peer.keys.publicKey }, grants }];
  };
  const peer = new HandmadePeer("peer", systemIdentifiers.next("link"), systemClock, {});
  pin(peer);
  await side.start();
  await connect(peer);
  return { side, peer, connect, pin };
}
