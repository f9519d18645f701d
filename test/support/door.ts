import { onTestFinished } from "vitest";
import type { PairingOffer, PairingRequest } from "../../schemas/client.ts";
import { connectLocal } from "../../services/http/client.ts";
import { type Served, type ServeOptions, serveEnvironment } from "../../services/serving.ts";
import { startEnvironment, type TestEnvironment, type TestOptions } from "./environments.ts";

export type Door = {
  env: TestEnvironment;
  served: Served;
  /** Scheme, host and port; the tools are at `/mcp`, the API at `/v1`. */
  url: string;
  mcpUrl: string;
  errors: unknown[];
  /** What `ropewalk client add` does. */
  pair(request?: PairingRequest): Promise<PairingOffer>;
};

/** A real environment, served on its socket and on loopback, on a port of its own. Closed when the test is over. */
export async function openDoor(options: TestOptions = {}, serve: ServeOptions = {}): Promise<Door> {
  const env = await startEnvironment(options);
  const errors: unknown[] = [];
  const served = await serveEnvironment(env, { http: { port: 0 }, onError: (error) => errors.push(error), ...serve });
  onTestFinished(() => served.close());
  const client = connectLocal(env.dir);
  onTestFinished(() => client.close());
  const url = served.url ?? "";
  return { env, served, url, mcpUrl: `${url}/mcp`, errors, pair: (request = {}) => client.addClient(request) };
}
