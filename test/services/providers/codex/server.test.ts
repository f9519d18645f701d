import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { type AppServerChild, type Exit, type Launch, startChild } from "../../../../services/providers/codex/process.ts";
import { CodexServer } from "../../../../services/providers/codex/server.ts";
import { MemoryClock } from "../../../../services/runtime/memory-clock.ts";
import { systemClock } from "../../../../services/runtime/system-clock.ts";

const never = new AbortController().signal;
const launch: Launch = { bin: "codex", args: [], cwd: "/", env: { SOME_KEY: "secret-value" } };

/** A process whose other side is the test. `answer` decides what a request is answered, if at all. */
function scripted(answer: (method: string) => unknown) {
  const clock = new MemoryClock();
  const children: { stdout: PassThrough; stderr: PassThrough; kills: string[]; die(exit: Exit): void }[] = [];
  const start = (): AppServerChild => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const exit = Promise.withResolvers<Exit>();
    const child = { stdout, stderr, kills: [] as string[], die: exit.resolve };
    children.push(child);
    stdin.on("data", (chunk: Buffer) => {
      for (const line of chunk.toString().split("\n").filter(Boolean)) {
        const { id, method } = JSON.parse(line) as { id?: number; method: string };
        const result = id === undefined ? undefined : answer(method);
        if (result !== undefined) stdout.write(`${JSON.stringify({ id, result })}\n`);
      }
    });
    stdin.on("end", () => exit.resolve({ code: 0, signal: null }));
    const kill = (signal: string) => {
      child.kills.push(signal);
      exit.resolve({ code: null, signal });
    };
    return { stdin, stdout, stderr, exited: exit.promise, kill };
  };
  return { clock, children, server: new CodexServer(() => launch, start, clock) };
}

const onlyStart = (method: string) => (method === "initialize" ? {} : undefined);

describe("the shared app-server", () => {
  it("Openings at the same time share one process, and after its end the next opening has a new one", async () => {
    const { server, children } = scripted(onlyStart);
    const [one, two] = await Promise.all([server.connect(never), server.connect(never)]);
    expect(one).toBe(two);
    expect(children).toHaveLength(1);
    children[0]!.die({ code: 1, signal: null });
    await expect(one.peer.request("x", {})).rejects.toMatchObject({ refusal: { reason: "provider_process_died" } });
    expect(await server.connect(never)).not.toBe(one);
    expect(children).toHaveLength(2);
    await server.close();
  });

  it("A process that does not finish its start is ended, and the opening is told", async () => {
    const { server, clock, children } = scripted(() => undefined);
    const opening = server.connect(never);
    opening.catch(() => undefined);
    await clock.advance(30_000);
    await expect(opening).rejects.toMatchObject({ refusal: { reason: "provider_not_answering" } });
    expect(children).toHaveLength(1);
    await server.close();
  });

  it("A request without an answer is rejected in time; a process that answers nothing else either is killed", async () => {
    let deaf = false;
    const { server, clock, children } = scripted((method) => (method === "slow" || deaf ? undefined : {}));
    const { peer } = await server.connect(never);
    const slow = peer.request("slow", {});
    slow.catch(() => undefined);
    await clock.advance(60_000);
    await expect(slow).rejects.toMatchObject({ refusal: { reason: "provider_not_answering" } });
    await clock.advance(20_000);
    expect(children[0]?.kills).toEqual([]);

    deaf = true;
    const again = peer.request("slow", {});
    again.catch(() => undefined);
    await clock.advance(60_000);
    await clock.advance(20_000);
    await expect(again).rejects.toThrow();
    expect(children[0]?.kills).toEqual(["SIGKILL"]);
    await server.close();
  });

  it("The last words of a process are in the failure, without colours and without keys", async () => {
    const { server, children } = scripted(onlyStart);
    const { peer } = await server.connect(never);
    children[0]!.stderr.write("first\n\u001b[31mno access with secret-value\u001b[0m\n");
    await new Promise((next) => setImmediate(next));
    children[0]!.die({ code: 3, signal: null });
    await expect(peer.request("x", {})).rejects.toMatchObject({
      refusal: { message: "The Codex process ended with exit code 3: no access with [redacted]", details: { exitCode: 3 } },
    });
  });

  it("A file that cannot be run is told as such", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ropewalk-server-"));
    const bin = join(folder, "codex");
    writeFileSync(bin, "not a program", { mode: 0o600 });
    const server = new CodexServer(() => ({ ...launch, bin, cwd: folder }), startChild, systemClock);
    await expect(server.connect(never)).rejects.toMatchObject({
      refusal: { code: "provider_unavailable", reason: "provider_not_started", message: expect.stringContaining(bin) },
    });
    await server.close();
    rmSync(folder, { recursive: true });
  });

  it("Frames may come in any pieces, and a character that is cut in two is whole again", async () => {
    const { server, children } = scripted(onlyStart);
    const { peer } = await server.connect(never);
    const answer = peer.request("x", {});
    const bytes = Buffer.from(`stray line\n\n${JSON.stringify({ id: 2, result: "naïve 😀" })}\n`);
    for (const byte of bytes) children[0]!.stdout.write(Buffer.from([byte]));
    expect(await answer).toBe("naïve 😀");
    await server.close();
  });
});
