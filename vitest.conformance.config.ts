import { defineConfig } from "vitest/config";
import { common } from "./vitest.common.ts";

/** The MCP door held against public tools, which are installed into `.cache/` by the tests' own set-up. */
export default defineConfig({
  test: {
    ...common,
    include: ["test/mcp-conformance/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
