import { execFile } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isNatsServerNewEnough, type NatsServerBinary, natsServerVersion } from "../../services/links/nats/server-binary.ts";
import { systemIds } from "../../services/links/nats/server-install.ts";

const run = promisify(execFile);
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** Debian itself: its derivatives sign with other keys and have other suites. */
export function isDebian(): boolean {
  return systemIds()[0] === "debian" && existsSync("/usr/bin/apt-get") && existsSync(keyring);
}

/** The Debian mirror that the system is set up with, and the suite that it runs. */
async function systemSource(): Promise<{ mirror: string; suite: string }> {
  const format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
  const { stdout } = await run("apt-get", ["indextargets", "--format", format, "Created-By: Packages"], { timeout: 30_000 });
  const lines = stdout.split("\n").map((line) => line.split(" "));
  // Updates and security are other repositories or suites; the plain one is named by a single word.
  const main = lines.find(([, release, component]) => component === "main" && /^[a-z]+$/.test(release ?? ""));
  const [mirror, suite] = main ?? [];
  if (mirror === undefined || suite === undefined) throw new Error("no Debian mirror in this system's apt configuration");
  return { mirror, suite };
}

/** Options that keep apt's lists and archives in `work`. Mirrors' proxies and credentials stay those of the system. */
function isolated(work: string): string[] {
  const settings = {
    "Dir::Etc::sourcelist": join(work, "sources.list"),
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State::lists": join(work, "lists"),
    "Dir::Cache::archives": join(work, "archives"),
    "Dir::Cache::pkgcache": "",
    "Dir::Cache::srcpkgcache": "",
    // apt's own user may not enter the folder; without root there is no other user anyway.
    "APT::Sandbox::User": "",
    "Acquire::Retries": "3",
    "Acquire::http::Timeout": "30",
    "Acquire::Languages": "none",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

/**
 * Downloads the nats-server package of a suite (null: the system's own), checked by apt against Debian's keys, and unpacks
 * the binary into `folder`. Needs no root and leaves the system's apt as it is. Null, with the reason said, when it cannot.
 */
export async function fetchFromDebian(suite: string | null, folder: string, say: (line: string) => void): Promise<NatsServerBinary | null> {
  const work = mkdtempSync(join(tmpdir(), "ropewalk-nats-"));
  try {
    const source = await systemSource();
    const from = suite ?? source.suite;
    for (const name of ["lists/partial", "archives/partial"]) mkdirSync(join(work, name), { recursive: true });
    writeFileSync(join(work, "sources.list"), `deb [signed-by=${keyring}] ${source.mirror} ${from} main\n`);
    const options = isolated(work);
    await run("apt-get", ["-qq", ...options, "update"], { cwd: work, timeout: 180_000 });
    await run("apt-get", ["-qq", ...options, "download", `nats-server/${from}`], { cwd: work, timeout: 180_000 });
    const [archive] = readdirSync(work).filter((name) => name.endsWith(".deb"));
    if (archive === undefined) throw new Error("apt-get brought no package");
    await run("dpkg", ["-x", archive, "unpacked"], { cwd: work, timeout: 60_000 });
    const unpacked = join(work, "unpacked", "usr", "sbin", "nats-server");
    const version = await natsServerVersion(unpacked);
    if (version === null) throw new Error("its binary does not run on this system");
    if (!isNatsServerNewEnough(version)) throw new Error(`its ${version} is too old`);
    return { bin: keep(unpacked, folder), version };
  } catch (error) {
    const message = error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error);
    say(`not from ${suite ?? "this system's suite"}: ${message}`);
    return null;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Puts the binary in place by a rename, so that two runs at once both end with a whole file. */
function keep(binary: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const place = join(folder, "nats-server");
  const beside = `${place}.${process.pid}`;
  copyFileSync(binary, beside);
  chmodSync(beside, 0o755);
  renameSync(beside, place);
  return place;
}
