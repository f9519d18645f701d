import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NatsServer, startNatsServer } from "../../services/links/nats/server.ts";
import { findNatsServer } from "../../services/links/nats/server-binary.ts";

/** A real nats-server with its own folder, which can be killed, wiped and started again under the same address. */
export class TestNats {
  readonly #bin: string;
  readonly #dir = mkdtempSync(join(tmpdir(), "ropewalk-nats-"));
  #server: NatsServer | null = null;
  #port: number | undefined;

  private constructor(bin: string) {
    this.#bin = bin;
  }

  static async start(): Promise<TestNats> {
    const found = await findNatsServer();
    if (found === null) throw new Error("these tests need a nats-server: npm run pretest");
    const nats = new TestNats(found.bin);
    await nats.start();
    return nats;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  /** What it keeps on its disk, and its log. */
  get folder(): string {
    return this.#dir;
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  /** Resolves when the present server has ended, whoever ended it. */
  get exited(): Promise<void> {
    return this.#server?.exited ?? Promise.resolve();
  }

  async start(): Promise<void> {
    this.#server = await startNatsServer({ bin: this.#bin, dir: this.#dir, ...(this.#port === undefined ? {} : { port: this.#port }) });
    this.#port = this.#server.port;
  }

  async kill(): Promise<void> {
    await this.#server?.stop("SIGKILL");
    this.#server = null;
  }

  /** The disk is gone. Only while it is not running. */
  wipe(): void {
    rmSync(join(this.#dir, "store"), { recursive: true, force: true });
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
