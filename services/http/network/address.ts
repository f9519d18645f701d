import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "./hosts.ts";

/**
 * Who is at the other end, as far as it is counted: an address, of version 6 the network that one household has. Behind a
 * proxy on this machine, the last that it says it was called by; whoever reaches this port without the proxy could say
 * anything there, and is then counted together with all the others.
 */
export function addressOf({ socket, headers }: Pick<IncomingMessage, "socket" | "headers">, isBehindProxy: boolean): string {
  const peer = plain(socket.remoteAddress ?? "");
  if (!isBehindProxy || !isLoopback(peer)) return counted(peer);
  const told = plain([headers["x-forwarded-for"]].flat().join(",").split(",").at(-1)?.trim() ?? "");
  return counted(isIP(told) === 0 ? peer : told);
}

/** An address of version 4 that came in as one of version 6 is the same address. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "");

function counted(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const groups = tail === undefined ? first : [...first, ...Array(Math.max(0, 8 - first.length - last.length)).fill("0"), ...last];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
