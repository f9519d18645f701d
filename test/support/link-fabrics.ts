import { createMemoryFabric } from "../../services/links/memory/transport.ts";
import { createNatsTransport } from "../../services/links/nats/transport.ts";
import type { LinkTransport } from "../../services/runtime/ports/link-transport.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { TestNats } from "./nats.ts";

/** A fabric under test: its transports, and what can happen to it. */
export type Fabric = {
  transport(name: string, options?: { channelBytes: number }): LinkTransport;
  /** Nobody reaches it until `up`. `wiped`: it comes back without anything. */
  down(): Promise<void>;
  up(wiped?: boolean): Promise<void>;
  end(): Promise<void>;
};

export async function memory(): Promise<Fabric> {
  const channelBytes = 64 * 1024;
  const fabric = createMemoryFabric({ clock: systemClock, channelBytes });
  const names = new Set<string>();
  return {
    transport(name) {
      names.add(name);
      return fabric.transport(name);
    },
    async down() {
      for (const name of names) fabric.cut(name);
    },
    async up(wiped) {
      for (const name of names) fabric.restore(name);
      if (wiped) fabric.wipe(true);
    },
    async end() {},
  };
}

export async function nats(): Promise<Fabric> {
  const server = await TestNats.start();
  return {
    transport: (name, options) => createNatsTransport({ url: server.url, name, ...(options ? { streamBytes: options.channelBytes } : {}) }),
    down: () => server.kill(),
    async up(wiped) {
      if (wiped) server.wipe();
      await server.start();
    },
    end: () => server.end(),
  };
}
