import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { installCommand, isSdkInstalled, loadSdk, namedBinary } from "../../../../services/providers/claude/sdk.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ropewalk-sdk-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function sdk(version: string): void {
  const at = join(folder, "node_modules", "@anthropic-ai", "claude-agent-sdk");
  mkdirSync(at, { recursive: true });
  const manifest = { name: "@anthropic-ai/claude-agent-sdk", version, type: "module", exports: { ".": "./sdk.mjs" } };
  writeFileSync(join(at, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(at, "sdk.mjs"), "export const query = () => 'made';");
}

it("A missing SDK is told with the command that installs it where it is found", async () => {
  await expect(loadSdk({ folder })).rejects.toMatchObject({
    refusal: {
      code: "provider_unavailable",
      reason: "provider_not_installed",
      hint: expect.stringMatching(/^Install it: npm install .*@anthropic-ai\/claude-agent-sdk@0\.3\.\d+$/),
    },
  });
  expect(isSdkInstalled([folder])).toBe(false);
  expect(installCommand("/home/a/app/node_modules/ropewalk/dist/services")).toContain('npm install --prefix "/home/a/app" @anthropic-ai');
  expect(installCommand("/usr/lib/node_modules/ropewalk/dist/services")).toMatch(/^npm install -g @anthropic-ai/);
});

it("The SDK is taken from the folder that is named, in the version that was measured or a later one of the same line", async () => {
  sdk("0.3.340");
  expect(isSdkInstalled([folder])).toBe(true);
  expect((await loadSdk({ folder })).query({ prompt: (async function* () {})(), options: {} })).toBe("made");
});

it.each(["0.3.100", "0.4.0", "1.0.0"])("Version %s of the SDK is refused by its number, and not run", async (version) => {
  sdk(version);
  await expect(loadSdk({ folder })).rejects.toMatchObject({
    refusal: { reason: "provider_version", message: expect.stringContaining(version) },
  });
});

it("A binary that is named but missing is told, not passed over", () => {
  expect(namedBinary(undefined, {})).toBeUndefined();
  expect(namedBinary("/bin/sh", { ROPEWALK_CLAUDE_BIN: "/nowhere" })).toBe("/bin/sh");
  expect(namedBinary(undefined, { ROPEWALK_CLAUDE_BIN: "/bin/sh" })).toBe("/bin/sh");
  expect(() => namedBinary(undefined, { ROPEWALK_CLAUDE_BIN: "/nowhere" })).toThrow("which ROPEWALK_CLAUDE_BIN names");
  expect(() => namedBinary("/nowhere", {})).toThrow("which the instance's `bin` names");
});
