import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { EnvironmentConfig } from "../../../schemas/config.ts";
import { startEnvironment, type TestEnvironment } from "../../support/environments.ts";

/** An environment on a folder that was restored, as its configuration says. */
export async function reopened(dir: string): Promise<TestEnvironment> {
  const config = JSON.parse(readFileSync(join(dir, "config.json"), "utf8")) as EnvironmentConfig;
  return startEnvironment({ dir, scripts: {}, config });
}

/** A refusal for this reason, to be thrown. */
export const refusedWith = (reason: string) => expect.objectContaining({ refusal: expect.objectContaining({ reason }) });
