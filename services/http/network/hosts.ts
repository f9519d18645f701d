import { isIP } from "node:net";

/** Whether a host is this machine itself, whoever resolves it. */
export function isLoopback(host: string): boolean {
  const name = bare(host);
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

/** All addresses of this machine at once. */
export const isEvery = (host: string): boolean => ["0.0.0.0", "::"].includes(bare(host));

/** Without the brackets of an address of version 6, in small letters, and without the dot that ends a full name. */
export function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/(?<=.)\.$/, "");
}

/** As it stands in an address. */
export const bracketed = (host: string): string => (isIP(bare(host)) === 6 ? `[${bare(host)}]` : host);

/** The host and port of a `Host` header; null for one that is none. */
export function hostIn(header: string | undefined): { name: string; text: string } | null {
  const text = header?.toLowerCase() ?? "";
  if (!/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/.test(text)) return null;
  return { name: bare(text.replace(/:\d{1,5}$/, "")), text };
}
