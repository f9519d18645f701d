import { defineConfig } from "vitest/config";
import { common } from "./vitest.common.ts";

/** Kills processes at their commits. `--mode tenth` takes every tenth point; tests read `ROPEWALK_CRASH_SHARE`. */
export default defineConfig(({ mode }) => ({
  test: {
    ...common,
    env: { ...common.env, ROPEWALK_CRASH_SHARE: mode === "tenth" ? "0.1" : "1" },
    include: ["test/crash/**/*.test.ts"],
    testTimeout: 600_000,
  },
}));
