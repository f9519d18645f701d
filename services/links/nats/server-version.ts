import type { LinkLog } from "../link-side.ts";

const recommended = [2, 10, 27] as const;

/** Says at every connect which server it is, and warns of one with known holes. */
export function sayVersion(version: string | undefined, log: LinkLog): void {
  const parts = (version ?? "").split(".").map((part) => Number.parseInt(part, 10));
  for (const [place, part] of recommended.entries()) {
    const own = parts[place] ?? 0;
    if (own > part) break;
    if (own === part) continue;
    log.warn({ version }, `nats-server ${version} has known holes; ${recommended.join(".")} or newer is recommended`);
    return;
  }
  log.info({ version }, "connected to a NATS server");
}
