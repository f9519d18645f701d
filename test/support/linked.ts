import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { EnvironmentConfig } from "../../schemas/config.ts";
import type { EnvironmentId, LinkId } from "../../schemas/ids.ts";
import type { Grant } from "../../schemas/link.ts";
import { broadestModes } from "../../schemas/modes.ts";
import { loadOrCreateKeys } from "../../services/links/keys.ts";
import { createMemoryFabric } from "../../services/links/memory/transport.ts";
import type { LinkView } from "../../services/runtime/environment-api.ts";
import type { Clock } from "../../services/runtime/ports/clock.ts";
import type { LinkTransport } from "../../services/runtime/ports/link-transport.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { systemIdentifiers } from "../../services/runtime/system-identifiers.ts";
import { startEnvironment, type TestEnvironment, temporaryFolder, until } from "./environments.ts";
import { TestNats } from "./nats.ts";

/** What carries the messages: a fabric in this process, or a nats-server. */
export type LinkFabric = { nats: string | null; transport(name: string): LinkTransport | undefined };

const natsFabric = (url: string): LinkFabric => ({ nats: url, transport: () => undefined });
export const memoryFabric = (): LinkFabric => ({ nats: null, transport: createMemoryFabric({ clock: systemClock }).transport });

/** The fabrics that a link is tested on, one after the other; a nats-server runs beside the tests of the file. */
export function bothFabrics() {
  let nats: TestNats;
  beforeAll(async () => {
    nats = await TestNats.start();
  });
  afterAll(() => nats.end());
  return [
    ["in this process", memoryFabric],
    ["over a nats-server", (): LinkFabric => natsFabric(nats.url)],
  ] as const;
}

/** Everything that a link can be granted, without a cap. */
export const allGrants: Grant[] = [
  { kind: "threadImport", maxModes: broadestModes },
  { kind: "spawn", maxModes: broadestModes },
  { kind: "read" },
  { kind: "move", maxModes: broadestModes },
];

export type SideOptions = {
  /** What each peer may do here, by the peer's name; default: everything. */
  grants?: Record<string, Grant[]>;
  scripts?: Record<string, unknown>;
  limits?: EnvironmentConfig["limits"];
};

/** An environment with links that can be stopped, moved, set back and started again under its identity. */
export class LinkedSide {
  readonly name: string;
  readonly id: EnvironmentId = systemIdentifiers.next("env");
  readonly options: SideOptions;
  dir = temporaryFolder();
  links: EnvironmentConfig["links"] = [];
  /** Milliseconds that its clock is ahead of ours. */
  ahead = 0;
  readonly #fabric: LinkFabric;
  #env: TestEnvironment | null = null;

  constructor(name: string, fabric: LinkFabric, options: SideOptions) {
    this.name = name;
    this.#fabric = fabric;
    this.options = options;
  }

  get env(): TestEnvironment {
    if (this.#env === null) throw new Error(`${this.name} is not running`);
    return this.#env;
  }

  /** The key that its peers pin, made with its folder. */
  get publicKey(): string {
    const keys = loadOrCreateKeys(this.dir);
    if (!keys.ok) throw new Error(keys.failure.message);
    return keys.keys.publicKey;
  }

  /** Its link to a peer, as it stands. */
  link(peer: LinkedSide): LinkView {
    const link = this.env.links.list().find((l) => l.peerEnvironmentId === peer.id);
    if (link === undefined) throw new Error(`${this.name} has no link to ${peer.name}`);
    return link;
  }

  /** How a command of the peer over its link is asked here. */
  callOf(peer: LinkedSide) {
    return { caller: { kind: "link", linkId: this.link(peer).id, environmentId: peer.id } } as const;
  }

  async start(): Promise<TestEnvironment> {
    const { scripts, limits = {} } = this.options;
    const transport = this.#fabric.transport(this.name);
    const ahead: Clock = { now: () => systemClock.now() + this.ahead, after: systemClock.after };
    this.#env = await startEnvironment({
      dir: this.dir,
      name: this.name,
      clock: ahead,
      config: {
        environment: { id: this.id, name: this.name },
        links: this.links,
        limits,
        nats: this.#fabric.nats === null ? null : { url: this.#fabric.nats },
      },
      ...(scripts === undefined ? {} : { scripts }),
      ...(transport === undefined ? {} : { linkTransport: transport }),
    });
    return this.#env;
  }

  async stop(): Promise<void> {
    const env = this.env;
    this.#env = null;
    await env.close();
  }

  /** A copy of its folder, as a backup of a stopped environment makes it. Returns the copy's path. */
  copy(): string {
    const to = join(temporaryFolder(), "copy");
    cpSync(this.dir, to, { recursive: true, preserveTimestamps: true });
    return to;
  }

  /** Its folder becomes a copy of another one, in the same place. */
  setBackTo(copy: string): void {
    rmSync(this.dir, { recursive: true });
    cpSync(copy, this.dir, { recursive: true, preserveTimestamps: true });
  }
}

/** Environments by name and the links between them, all running. Stopped when the test is over. */
export async function linked<N extends string>(
  fabric: LinkFabric,
  sides: Record<N, SideOptions>,
  pairs: readonly (readonly [N, N])[],
): Promise<Record<N, LinkedSide>> {
  const made = Object.fromEntries(
    Object.entries<SideOptions>(sides).map(([name, options]) => [name, new LinkedSide(name, fabric, options)]),
  ) as Record<N, LinkedSide>;
  for (const [one, other] of pairs) {
    const id: LinkId = systemIdentifiers.next("link");
    for (const [side, peer] of [[made[one], made[other]] as const, [made[other], made[one]] as const])
      side.links.push({
        id,
        name: peer.name,
        peer: { environmentId: peer.id, publicKey: peer.publicKey },
        grants: side.options.grants?.[peer.name] ?? allGrants,
      });
  }
  for (const side of Object.values<LinkedSide>(made)) await side.start();
  return made;
}

/** Two environments, `a` and `b`, that trust each other with everything unless `grants` says less. */
export const linkedPair = (fabric: LinkFabric, sides: { a?: SideOptions; b?: SideOptions } = {}) =>
  linked(fabric, { a: sides.a ?? {}, b: sides.b ?? {} }, [["a", "b"]]);

/** Each has what the other has sent, and knows that the other knows. */
export async function settled(one: LinkedSide, other: LinkedSide): Promise<void> {
  const has = (from: LinkedSide, to: LinkedSide) => {
    const { sent, backlog, status } = from.link(to);
    const { received } = to.link(from);
    const all = sent.number === 0 || (received?.epoch === sent.epoch && received.number === sent.number && received.digest === sent.digest);
    return all && backlog === 0 && status === "online";
  };
  await until(() => has(one, other) && has(other, one), "both have everything");
}

/** Ends with the test, whatever becomes of it. */
export function atEnd(end: () => Promise<unknown>): void {
  onTestFinished(async () => void (await end()));
}
