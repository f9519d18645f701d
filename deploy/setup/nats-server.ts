import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findNatsServer, natsServerFloor, natsServerVersion } from "../../services/links/nats/server-binary.ts";
import { natsServerInstallCommand } from "../../services/links/nats/server-install.ts";
import { fetchFromDebian, isDebian } from "./nats-debian.ts";

/**
 * `nats-server.ts ensure`: a nats-server for demo and tests (decision 47). Takes what is there; else, on Debian, fetches
 * the signed package into `.cache/nats/`, installing nothing; elsewhere says the one command. Without a server it still
 * ends with 0, since most of the tests need none and the others say so themselves.
 *
 * `nats-server.ts ensure --suite bookworm|trixie|sid`: that suite's server in `.cache/nats/<suite>/`, its path on standard
 * output, for `NATS_SERVER_BIN`. Ends with 1 when it cannot be had.
 */
const cache = fileURLToPath(new URL("../../.cache/nats/", import.meta.url));
const say = (line: string) => console.error(`nats-server: ${line}`);

async function ensure(): Promise<void> {
  const found = await findNatsServer();
  if (found !== null) return say(`${found.version}, ${found.bin}`);
  const command = natsServerInstallCommand();
  if (!isDebian()) return say(`none found (${natsServerFloor} or newer). To have one: ${command}`);
  say("none found; fetching the signed Debian package into .cache/nats (nothing is installed)");
  // The stable suite's is newer than that of Debian 12, whose own is the fallback where the newer one is not to be had.
  for (const suite of ["trixie", null]) {
    const fetched = await fetchFromDebian(suite, cache, say);
    if (fetched !== null) return say(`${fetched.version}, ${fetched.bin}`);
  }
  say(`could not be fetched. To have one: ${command}`);
}

async function ensureSuite(suite: string): Promise<void> {
  const folder = join(cache, suite);
  const bin = join(folder, "nats-server");
  if (existsSync(bin) && (await natsServerVersion(bin)) !== null) return console.log(bin);
  if (!isDebian()) throw new Error("--suite works on Debian only");
  const fetched = await fetchFromDebian(suite, folder, say);
  if (fetched === null) throw new Error(`the server of ${suite} could not be fetched`);
  console.log(fetched.bin);
}

const [verb, flag, suite] = process.argv.slice(2);
try {
  if (verb !== "ensure" || (flag !== undefined && (flag !== "--suite" || !/^[a-z]+$/.test(suite ?? "")))) {
    throw new Error("usage: nats-server.ts ensure [--suite bookworm|trixie|sid]");
  }
  await (suite === undefined ? ensure() : ensureSuite(suite));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
