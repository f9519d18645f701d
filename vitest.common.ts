import { fileURLToPath } from "node:url";
import type { TestUserConfig } from "vitest/config";

/**
 * What every suite shares. Two workers: one per core of the smallest machine that must pass. Tests start many processes
 * of ours, and each is up faster with its code compiled once for all.
 */
export const common: TestUserConfig = {
  pool: "forks",
  maxWorkers: 2,
  hookTimeout: 30_000,
  // Tests of kills and of real servers share two cores with whatever else the machine does: there a second try is shown as one.
  retry: process.env.CI === "true" ? 1 : 0,
  setupFiles: [fileURLToPath(new URL("test/support/seed.ts", import.meta.url))],
  env: { NODE_COMPILE_CACHE: fileURLToPath(new URL(".cache/compile", import.meta.url)) },
};
