import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findCodexBinary } from "../../../../services/providers/codex/binary.ts";
import { ProviderFailure } from "../../../../services/providers/contract.ts";

const triples: Record<string, string> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-arm64": "aarch64-apple-darwin",
  "darwin-x64": "x86_64-apple-darwin",
};
const platform = `${process.platform}-${process.arch}`;

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "ropewalk-binary-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(path: string, text = "native"): string {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  chmodSync(join(folder, path), 0o755);
  return join(folder, path);
}

/** A project with the packages as npm installs them; the platform's one beside the main one or inside it. */
function installed(root: string, platformPackageIn = `${root}/node_modules`) {
  file(`${root}/node_modules/@openai/codex/package.json`, "{}");
  const launcher = file(`${root}/node_modules/@openai/codex/bin/codex.js`, "#!/usr/bin/env node\n");
  file(`${platformPackageIn}/@openai/codex-${platform}/package.json`, "{}");
  return { launcher, native: file(`${platformPackageIn}/@openai/codex-${platform}/vendor/${triples[platform]}/bin/codex`) };
}

function refusalOf(find: () => unknown) {
  try {
    find();
  } catch (cause) {
    if (cause instanceof ProviderFailure) return cause.refusal;
  }
  throw new Error("nothing was refused");
}

describe.skipIf(triples[platform] === undefined)("finding the Codex binary", () => {
  it("Configuration counts before ROPEWALK_CODEX_BIN, that before the package, and that before the PATH", () => {
    const [bin, named, onPath] = [file("configured"), file("named"), file("bin/codex")];
    const { native } = installed("project");
    const roots = [join(folder, "project")];
    const env = { ROPEWALK_CODEX_BIN: named, PATH: dirname(onPath) };
    expect(findCodexBinary({ bin, env, roots })).toEqual({ path: bin, from: "configuration" });
    expect(findCodexBinary({ env, roots })).toEqual({ path: named, from: "ROPEWALK_CODEX_BIN" });
    expect(findCodexBinary({ env: { PATH: env.PATH }, roots })).toEqual({ path: native, from: "package" });
    expect(findCodexBinary({ env: { PATH: env.PATH }, roots: [] })).toEqual({ path: onPath, from: "PATH" });
  });

  it("The package is seen from below the project's folder, also where its platform part is nested", () => {
    const { native } = installed("project", "project/node_modules/@openai/codex/node_modules");
    mkdirSync(join(folder, "project/a/b"), { recursive: true });
    expect(findCodexBinary({ env: {}, roots: [join(folder, "elsewhere"), join(folder, "project/a/b")] }).path).toBe(native);
  });

  it("The JavaScript launcher is never what is found, only the binary that it would start", () => {
    const { launcher, native } = installed("global");
    mkdirSync(join(folder, "bin"));
    symlinkSync(launcher, join(folder, "bin/codex"));
    expect(findCodexBinary({ env: { PATH: join(folder, "bin") }, roots: [] }).path).toBe(native);
    expect(findCodexBinary({ bin: launcher }).path).toBe(native);
    const alone = file("alone/codex.js", "#!/usr/bin/env node\n");
    expect(refusalOf(() => findCodexBinary({ bin: alone }))).toMatchObject({ reason: "provider_not_installed" });
  });

  it("What is named but missing is told and not passed over, and nothing found names the command that installs it", () => {
    const env = { PATH: dirname(file("bin/codex")) };
    const missing = join(folder, "nowhere");
    const named = refusalOf(() => findCodexBinary({ bin: missing, env }));
    expect(named).toMatchObject({
      code: "provider_unavailable",
      reason: "provider_not_installed",
      message: expect.stringContaining(missing),
    });
    expect(refusalOf(() => findCodexBinary({ env: { ...env, ROPEWALK_CODEX_BIN: missing } })).message).toContain("ROPEWALK_CODEX_BIN");
    expect(refusalOf(() => findCodexBinary({ env: {}, roots: [] })).hint).toContain("npm install -g @openai/codex");
  });
});
