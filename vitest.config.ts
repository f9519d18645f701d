import { defineConfig } from "vitest/config";
import { common } from "./vitest.common.ts";

/** The default suite: everything but real agents, the crash runs and the bench, which have commands of their own. */
export default defineConfig({
  test: {
    ...common,
    include: ["test/**/*.test.ts"],
    exclude: ["test/real/**", "test/crash/**"],
    testTimeout: 30_000,
  },
});
