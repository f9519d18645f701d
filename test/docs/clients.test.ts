import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EnvironmentConfig } from "../../schemas/config.ts";
import { networkLimits } from "../../services/http/network/limits.ts";
import { networkSettings } from "../../services/http/network/settings.ts";
import { guessRate, oauthLimits } from "../../services/oauth/limits.ts";
import { selfSigned } from "../support/certificate.ts";
import { temporaryFolder } from "../support/environments.ts";

const guide = readFileSync(new URL("../../docs/guide/clients.md", import.meta.url), "utf8");

test("every configuration in the guide of clients is one that the listener takes", () => {
  const blocks = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = ""]) => JSON.parse(json));
  expect(blocks).toHaveLength(2);
  for (const block of blocks) {
    const { http } = EnvironmentConfig.pick({ http: true }).parse(block);
    // The certificate is this machine's own.
    const own = { ...http, ...(http?.tls !== undefined && { tls: selfSigned() }) };
    expect(networkSettings(own, temporaryFolder()).publicOrigin?.hostname).toBe("box.example.org");
  }
});

test("the numbers in the guide of clients are those of the program", () => {
  expect([oauthLimits.pairingCodeMs, oauthLimits.tokenMs, oauthLimits.authorizationCodeMs]).toEqual([10 * 60_000, 30 * 86_400_000, 60_000]);
  expect([guessRate.perAddress, guessRate.windowMs, networkLimits.requestsPerCaller]).toEqual([10, 10 * 60_000, 64]);
});
