import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findNatsServer, isNatsServerNewEnough, NatsServerUnusable } from "../../../../services/links/nats/server-binary.ts";
import { natsServerInstallCommand, systemIds } from "../../../../services/links/nats/server-install.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ropewalk-binary-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program that says what a nats-server says to `--version`. */
function program(name: string, says: string): string {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const bin = join(home, "nats-server");
  writeFileSync(bin, `#!/bin/sh\necho '${says}'\n`);
  chmodSync(bin, 0o755);
  return bin;
}

test("NATS_SERVER_BIN comes before the PATH", async () => {
  const named = program("named", "nats-server: v2.12.0");
  program("path", "nats-server: v2.11.0");
  expect(await findNatsServer({ NATS_SERVER_BIN: named, PATH: join(folder, "path") })).toEqual({ bin: named, version: "2.12.0" });
});

test("the PATH comes before the caches, and a server that is too old or no server at all is passed over", async () => {
  const cache = join(folder, "xdg");
  program("xdg/ropewalk/nats", "nats-server: v2.10.1");
  program("old", "nats-server: v2.9.9");
  program("other", "something else");
  const fine = program("fine", "nats-server: v2.9.10");
  const PATH = ["old", "other", "fine"].map((name) => join(folder, name)).join(":");
  expect(await findNatsServer({ PATH, XDG_CACHE_HOME: cache })).toEqual({ bin: fine, version: "2.9.10" });
});

test("a NATS_SERVER_BIN that cannot be used is an error that names it, never passed over", async () => {
  const old = program("named-old", "nats-server: v2.8.4");
  await expect(findNatsServer({ NATS_SERVER_BIN: old })).rejects.toThrow(/2\.8\.4.*2\.9\.10 or newer/);
  await expect(findNatsServer({ NATS_SERVER_BIN: join(folder, "nothing") })).rejects.toThrow(NatsServerUnusable);
});

test("versions are compared by number, not by text", () => {
  expect(["2.9.10", "2.10.0", "2.15.1", "3.0.0"].map(isNatsServerNewEnough)).toEqual([true, true, true, true]);
  expect(["2.9.9", "2.8.40", "1.99.99"].map(isNatsServerNewEnough)).toEqual([false, false, false]);
});

test("each system is told its own command", () => {
  expect(systemIds('NAME="x"\nID=linuxmint\nID_LIKE="ubuntu debian"\n')).toEqual(["linuxmint", "ubuntu", "debian"]);
  expect(natsServerInstallCommand("linux", ["linuxmint", "ubuntu"])).toBe("sudo apt-get install nats-server");
  expect(natsServerInstallCommand("darwin", [])).toBe("brew install nats-server");
  expect(natsServerInstallCommand("linux", ["nixos"])).toContain("go install");
});
