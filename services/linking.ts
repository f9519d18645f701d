import { refusal } from "../schemas/refusal.ts";
import type { EnvironmentKeys } from "./links/keys.ts";
import type { LinkLog } from "./links/link-side.ts";
import { createNatsTransport } from "./links/nats/transport.ts";
import { createLinkService, type LinkService } from "./links/service.ts";
import { CommandRefused } from "./runtime/environment-api.ts";
import type { RuntimeLinkLedger } from "./runtime/ledger.ts";
import type { Clock } from "./runtime/ports/clock.ts";
import type { LinkTransport } from "./runtime/ports/link-transport.ts";
import type { Settings } from "./runtime/settings.ts";

/** Serves the links that the configuration names; null where there are none, or nothing to carry them. */
export async function startLinks(
  given: LinkTransport | undefined,
  settings: Settings,
  keys: EnvironmentKeys,
  ledger: RuntimeLinkLedger,
  clock: Clock,
  log: LinkLog,
): Promise<LinkService | null> {
  const { links, nats } = settings.config;
  if (links.length === 0) return null;
  const transport =
    given ??
    (nats === null
      ? null
      : createNatsTransport({
          url: nats.url,
          ...(nats.credentialsFile === undefined ? {} : { credentialsFile: nats.credentialsFile }),
          name: settings.config.environment.name,
          clock,
          log,
        }));
  if (transport === null) {
    log.warn({}, "links are configured, but no NATS server: nothing will be sent until config.json names one");
    return null;
  }
  for (const { name, peer } of links) needUsableKey(keys, name, peer.publicKey);
  const service = createLinkService({ environmentId: settings.environmentId, keys, links, transport, ledger, clock, logger: log });
  await service.start();
  return service;
}

/** A pinned key may look like one and be none: no secret can be shared with its holder, whoever that is. */
function needUsableKey(keys: EnvironmentKeys, name: string, publicKey: string): void {
  try {
    keys.agree(publicKey);
  } catch {
    throw new CommandRefused(
      refusal(
        "invalid_request",
        "peer_key_unusable",
        `the public key of the link "${name}" in config.json is no key that can be used`,
        "Copy the peer's key anew; the peer prints it with: ropewalk status --json",
      ),
    );
  }
}
