import type { IncomingMessage } from "node:http";
import { type Refusal, refusal } from "../../../schemas/refusal.ts";
import { bare, hostIn, isLoopback } from "./hosts.ts";
import type { NetworkSettings } from "./settings.ts";

export type Guarded = { ok: true /** Scheme, host and port by which it was called. */; origin: string } | { ok: false; refusal: Refusal };

type Head = Pick<IncomingMessage, "headers" | "socket">;

/**
 * Looks at whom a request was meant for, and from which page it comes, before anything else is done with it: a web page can
 * bend a name of its own to this machine (DNS rebinding), but the browser still says that name here.
 */
export function guard({ headers, socket }: Head, settings: NetworkSettings): Guarded {
  const isOwn = (name: string) =>
    isLoopback(name) || settings.names.has(name) || (settings.isEveryAddress && name === localAddress(socket));
  const host = hostIn(headers.host);
  if (host === null || !isOwn(host.name))
    return {
      ok: false,
      refusal: refusal(
        "capability_denied",
        "foreign_host",
        `this environment is not called "${headers.host ?? ""}"`,
        "Use an address that it printed; a further name goes into http.allowedHosts of config.json, or --allow-host.",
      ),
    };
  const from = headers.origin;
  if (from !== undefined && !(URL.canParse(from) && isOwn(bare(new URL(from).hostname))))
    return {
      ok: false,
      refusal: refusal(
        "capability_denied",
        "foreign_origin",
        `pages of ${from} may not use this environment`,
        "Only pages of its own names may; a further name goes into http.allowedHosts of config.json, or --allow-host.",
      ),
    };
  return { ok: true, origin: `${schemeOf(host, settings)}://${host.text}` };
}

/** A proxy that serves the public address takes TLS off; by any other name it was called as it listens. */
function schemeOf(host: { name: string; text: string }, { publicOrigin, tls }: NetworkSettings): string {
  if (publicOrigin !== null && !isLoopback(host.name)) return publicOrigin.protocol.slice(0, -1);
  if (publicOrigin !== null && publicOrigin.host === host.text) return publicOrigin.protocol.slice(0, -1);
  return tls === null ? "http" : "https";
}

const localAddress = (socket: Head["socket"]): string => bare((socket.localAddress ?? "").replace(/^::ffff:(?=\d+\.)/i, ""));
