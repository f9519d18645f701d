import { defineConfig } from "vitest/config";
import { common } from "./vitest.common.ts";

/** Real agents' binaries, one at a time; what they need is installed into `.cache/real/` by the tests' own set-up. */
export default defineConfig({
  test: {
    ...common,
    include: ["test/real/**/*.test.ts"],
    fileParallelism: false,
    expect: { poll: { timeout: 15_000 } },
    testTimeout: 120_000,
    hookTimeout: 600_000,
  },
});
