import { defineConfig } from "vitest/config";
import { common } from "./vitest.common.ts";

/** The default suite: everything but real agents, public MCP tools, the crash runs and the bench, which have commands of their own. */
export default defineConfig({
  test: {
    ...common,
    include: ["test/**/*.test.ts"],
    exclude: ["test/real/**", "test/mcp-conformance/**", "test/crash/**"],
    testTimeout: 30_000,
  },
});
