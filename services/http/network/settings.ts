import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { HttpConfig } from "../../../schemas/config.ts";
import { refusal } from "../../../schemas/refusal.ts";
import { CommandRefused } from "../../runtime/environment-api.ts";
import { bare, hostIn, isEvery, isLoopback } from "./hosts.ts";

export type NetworkSettings = {
  host: string;
  /** Null: one that is picked once and kept. */
  port: number | null;
  /** PEM. */
  tls: { cert: Buffer; key: Buffer } | null;
  /** How it is reached from outside, where that is said. */
  publicOrigin: URL | null;
  /** Names by which it may be called, besides loopback's. */
  names: ReadonlySet<string>;
  /** Whether it may also be called by the address at which a connection came in. */
  isEveryAddress: boolean;
};

const localHost = "127.0.0.1";

/** The configuration as the listener uses it. Throws CommandRefused for one that would be unsafe, or cannot work. */
export function networkSettings(config: HttpConfig, dir: string): NetworkSettings {
  const host = bare(config.host ?? localHost);
  const publicOrigin = config.publicUrl === undefined ? null : originOf(config.publicUrl);
  if (!isLoopback(host) && config.tls === undefined && publicOrigin === null)
    throw refused(
      "plain_http",
      `${host} is not this machine alone, and plain HTTP would show every token on the way`,
      "Give it a certificate (http.tls, or --tls-cert and --tls-key), or say by which https address a proxy serves it (http.publicUrl, or --public-url).",
    );
  const names = new Set<string>();
  if (!isEvery(host)) names.add(host);
  if (publicOrigin !== null) names.add(bare(publicOrigin.hostname));
  for (const one of config.allowedHosts ?? []) {
    const name = hostIn(one.includes(":") && !one.startsWith("[") ? `[${one}]` : one);
    if (name === null || name.text.replace(/^\[.*\]/, "").includes(":"))
      throw refused("bad_host", `"${one}" is no host's name`, "Name it as it stands in an address, without scheme and port.");
    names.add(name.name);
  }
  const tls = config.tls === undefined ? null : certificate(config.tls, dir);
  return { host, port: config.port ?? null, tls, publicOrigin, names, isEveryAddress: isEvery(host) };
}

function originOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe = url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)));
  if (url === null || !isSafe || url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    throw refused(
      "bad_public_url",
      `"${text}" cannot be the address by which programs come in`,
      "Name scheme and host alone, e.g. https://box.example.org; a proxy must serve it there, not below a path.",
    );
  return url;
}

function certificate(files: NonNullable<HttpConfig["tls"]>, dir: string): NonNullable<NetworkSettings["tls"]> {
  try {
    const tls = { cert: readFileSync(resolve(dir, files.cert)), key: readFileSync(resolve(dir, files.key)) };
    createSecureContext(tls);
    return tls;
  } catch (error) {
    throw refused(
      "tls_unusable",
      `the certificate ${files.cert} with the key ${files.key} cannot be used: ${(error as Error).message}`,
      "Both are PEM files that belong together, and that the user who runs ropewalk can read.",
    );
  }
}

const refused = (reason: string, message: string, hint: string) =>
  new CommandRefused(refusal("invalid_request", reason, message, hint, { member: "http" }));
