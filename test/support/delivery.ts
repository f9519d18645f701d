import { createLinkSeal } from "../../services/links/envelope.ts";
import { createMemoryFabric, type Disturbance } from "../../services/links/memory/transport.ts";
import { MemoryClock } from "../../services/runtime/memory-clock.ts";
import type { LinkChannel, LinkTransport } from "../../services/runtime/ports/link-transport.ts";
import { arrived, type LinkEnd, linkPair } from "./link-pair.ts";

type Published = { channel: LinkChannel; payload: Uint8Array };

/** Two ends over a memory fabric under a clock of ours, and everything that was published. */
export function setting(options: Parameters<typeof linkPair>[2] = {}) {
  const clock = new MemoryClock();
  let disturb: (channel: LinkChannel) => Disturbance = () => "keep";
  const fabric = createMemoryFabric({ clock, disturb: (channel) => disturb(channel) });
  const published: Published[] = [];
  const { linkId, a, b } = linkPair("delivery", clock, options);
  function transport(end: LinkEnd): LinkTransport {
    const inner = fabric.transport(end.environmentId);
    return {
      ...inner,
      async publish(channel, payload) {
        published.push({ channel, payload });
        await inner.publish(channel, payload);
      },
    };
  }
  return {
    clock,
    fabric,
    linkId,
    a,
    b,
    published,
    by: (end: LinkEnd) => published.filter(({ channel }) => channel.from === end.environmentId),
    start: (end: LinkEnd) => end.start(transport(end)),
    outsider: fabric.transport("outsider"),
    disturb(how: (channel: LinkChannel) => Disturbance) {
      disturb = how;
    },
    quiet: () => clock.runUntil(() => arrived(a, b) && arrived(b, a), 60_000),
  };
}

export const toPeer = (linkId: string, from: LinkEnd, to: LinkEnd): LinkChannel => ({
  linkId,
  to: to.environmentId,
  from: from.environmentId,
});

/** Seals as `from` itself would. */
export const sealOf = (linkId: string, from: LinkEnd, to: LinkEnd, keys = from.keys) =>
  createLinkSeal({
    linkId,
    self: { environmentId: from.environmentId, keys },
    peer: { environmentId: to.environmentId, publicKey: to.keys.publicKey },
  });

export const plainHead = (from: LinkEnd) => ({
  incarnation: from.ledger.incarnation,
  commit: 1,
  epoch: 1,
  number: 1,
  kind: "notice" as const,
  requestId: null,
  sentAt: 0,
  carries: "body" as const,
  trace: null,
});

export async function bothUp(options: Parameters<typeof linkPair>[2] = {}) {
  const made = setting(options);
  await made.start(made.a);
  await made.start(made.b);
  return made;
}
