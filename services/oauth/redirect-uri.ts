/** Schemes that a browser would act upon itself, or read a file for, instead of handing the answer to a program. */
const notForPrograms = new Set(["javascript:", "data:", "vbscript:", "file:", "blob:", "about:", "view-source:", "ws:", "wss:", "ftp:"]);
const loopbackHosts = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Why an address cannot be sent back to, or null when it can: https, http on this very machine, or a scheme of a program's own. */
export function whyNotRedirect(text: string): string | null {
  // What a parser mends silently would not be the same text on both sides.
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes("\\")) return "it holds characters that an address does not have";
  if (!URL.canParse(text)) return "it is no absolute address";
  const url = new URL(text);
  if (text.includes("#")) return "it has a fragment";
  if (url.username !== "" || url.password !== "") return "it names a user";
  if (url.protocol === "https:") return null;
  if (url.protocol === "http:") return isLoopback(url) ? null : "plain http goes to this machine only";
  return notForPrograms.has(url.protocol) ? `${url.protocol} is not for programs` : null;
}

/**
 * Whether an address is one of those that were registered: the same text; on this machine the port may differ, since a
 * program takes whichever is free when it listens (RFC 8252, 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (whyNotRedirect(uri) !== null) return false;
  return registered.some((one) => one === uri || (withoutPort(one) !== null && withoutPort(one) === withoutPort(uri)));
}

function withoutPort(uri: string): string | null {
  const url = new URL(uri);
  if (url.protocol !== "http:" || !isLoopback(url)) return null;
  return `${url.hostname}${url.pathname}${url.search}`;
}

const isLoopback = ({ hostname }: URL) => loopbackHosts.has(hostname);

/** Where the answer goes, for a person: a host, this machine, or the program that a scheme belongs to. */
export function whereTo(uri: string): string {
  const url = new URL(uri);
  if (url.protocol === "https:") return url.host;
  return url.protocol === "http:" ? `this computer (${url.host})` : `the program on this computer that opens ${url.protocol} addresses`;
}

/** What a page's policy has to name so that its form may end there. Address literals of version 6 cannot be named. */
export function policySource(uri: string): string {
  const url = new URL(uri);
  if (url.protocol !== "https:" && url.protocol !== "http:") return url.protocol;
  return url.hostname.startsWith("[") ? url.protocol : url.origin;
}

/** The address with what is answered added to its query. */
export function answerAt(uri: string, answer: Record<string, string | undefined>): string {
  const given = Object.entries(answer).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(given)}`;
}
