import { resolve } from "node:path";
import type { Command } from "commander";
import type { HttpConfig } from "../../schemas/config.ts";
import { badInput } from "./failure.ts";

export type ListenOptions = { listen?: string; tlsCert?: string; tlsKey?: string; publicUrl?: string; allowHost?: string[] };

const collected = (host: string, before: string[] = []) => [...before, host];

/** Adds where programs come in over the network; each replaces what `http` of config.json says, for this process. */
export function withListenOptions(command: Command): Command {
  return command
    .option("--listen <address>", "where programs come in: HOST:PORT, HOST, PORT, or off (127.0.0.1, and a port that stays the same)")
    .option("--tls-cert <file>", "serve them by https, with this certificate (PEM)")
    .option("--tls-key <file>", "the certificate's key (PEM)")
    .option("--public-url <url>", "the https address by which a proxy serves it")
    .option("--allow-host <name>", "a further name by which it may be called; can be given again", collected);
}

/** What the options say, as `http` of the configuration; undefined when they say nothing, null for none at all. */
export function httpOf({ listen, tlsCert, tlsKey, publicUrl, allowHost }: ListenOptions): HttpConfig | null | undefined {
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw badInput("tls_half", "a certificate and its key are needed together", "Give both --tls-cert and --tls-key.");
  if (listen === "off") {
    if (tlsCert !== undefined || publicUrl !== undefined || allowHost !== undefined)
      throw badInput("listen_off", "--listen off leaves nothing for the other options to say", "Leave one or the others out.");
    return null;
  }
  const http: HttpConfig = {
    ...(listen !== undefined && addressOf(listen)),
    ...(tlsCert !== undefined && tlsKey !== undefined && { tls: { cert: resolve(tlsCert), key: resolve(tlsKey) } }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(allowHost !== undefined && { allowedHosts: allowHost }),
  };
  return Object.keys(http).length === 0 ? undefined : http;
}

/** The same options for a process that is started elsewhere. */
export function listenArguments(http: HttpConfig | null | undefined): string[] {
  if (http === undefined) return [];
  if (http === null) return ["--listen", "off"];
  const { host, port, tls, publicUrl, allowedHosts = [] } = http;
  const address = host === undefined ? port : port === undefined ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return [
    ...(address === undefined ? [] : ["--listen", String(address)]),
    ...(tls === undefined ? [] : ["--tls-cert", tls.cert, "--tls-key", tls.key]),
    ...(publicUrl === undefined ? [] : ["--public-url", publicUrl]),
    ...allowedHosts.flatMap((name) => ["--allow-host", name]),
  ];
}

function addressOf(text: string): Pick<HttpConfig, "host" | "port"> {
  const isPort = /^\d{1,5}$/.test(text);
  const [, host, digits] = isPort ? [text, undefined, text] : (/^(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i.exec(text) ?? []);
  const port = digits === undefined ? undefined : Number(digits);
  if ((host === undefined && port === undefined) || (port ?? 0) > 65_535)
    throw badInput(
      "listen_address",
      `"${text}" is no address to listen on`,
      "Say HOST:PORT (127.0.0.1:4321, [::1]:4321), HOST, PORT, or off.",
    );
  return { ...(host !== undefined && { host: host.replace(/^\[(.*)\]$/, "$1") }), ...(port !== undefined && { port }) };
}
