import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { asTestClient, type TestClient } from "../services/mcp/rig.ts";
import { OAuthProgram } from "./oauth-program.ts";
import type { RunningEnvironment } from "./up.ts";

/** A program that has an environment's address and a pairing code, and nothing else. */
export class OutsideAgent {
  readonly #token: string;
  private constructor(token: string) {
    this.#token = token;
  }

  static async pairedWith(environment: RunningEnvironment, name: string): Promise<OutsideAgent> {
    const code = await environment.code("--name", name);
    return new OutsideAgent(await new OAuthProgram({ name }).pair(environment.mcpUrl, code));
  }

  /** Comes in by its token, at the address that the environment has now. */
  async at(environment: RunningEnvironment): Promise<TestClient> {
    const client = new Client({ name: "outside-agent", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${this.#token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(environment.mcpUrl), { requestInit }));
    onTestFinished(() => client.close());
    return asTestClient(client);
  }
}
