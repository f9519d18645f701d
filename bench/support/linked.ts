import { join } from "node:path";
import type { EnvironmentConfig } from "../../schemas/config.ts";
import type { LinkId } from "../../schemas/ids.ts";
import { broadestModes } from "../../schemas/modes.ts";
import { loadOrCreateKeys } from "../../services/links/keys.ts";
import { startNatsServer } from "../../services/links/nats/server.ts";
import { findNatsServer } from "../../services/links/nats/server-binary.ts";
import { systemIdentifiers as ids } from "../../services/runtime/system-identifiers.ts";
import { withFolder } from "./folder.ts";

export type Side = { dir: string; linkId: LinkId; config: Partial<EnvironmentConfig> & Pick<EnvironmentConfig, "environment" | "links"> };

/** A nats-server of its own on loopback. */
export function withNats<T>(work: (url: string) => Promise<T>): Promise<T> {
  return withFolder(async (dir) => {
    const found = await findNatsServer();
    if (found === null) throw new Error("this bench needs a nats-server: npm run nats");
    const server = await startNatsServer({ bin: found.bin, dir });
    try {
      return await work(server.url);
    } finally {
      await server.stop("SIGKILL");
    }
  });
}

/** Folders and configurations of two environments that trust each other over a nats-server. */
export function withSides<T>(url: string, work: (a: Side, b: Side) => Promise<T>): Promise<T> {
  return withFolder(async (root) => {
    const linkId = ids.next("link");
    const grants: EnvironmentConfig["links"][number]["grants"] = [
      { kind: "threadImport", maxModes: broadestModes },
      { kind: "spawn", maxModes: broadestModes },
      { kind: "read" },
    ];
    const halves = ["a", "b"].map((name) => ({ name, id: ids.next("env"), dir: join(root, name) }));
    const sides = halves.map(({ name, id, dir }, i): Side => {
      const peer = halves[1 - i] as (typeof halves)[number];
      const keys = loadOrCreateKeys(peer.dir);
      if (!keys.ok) throw new Error(keys.failure.message);
      const link = { id: linkId, name: peer.name, peer: { environmentId: peer.id, publicKey: keys.keys.publicKey }, grants };
      return { dir, linkId, config: { environment: { id, name }, links: [link], nats: { url } } };
    });
    return work(sides[0] as Side, sides[1] as Side);
  });
}
