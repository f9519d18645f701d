import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { networkLimits } from "../../../../services/http/network/limits.ts";
import { openDoor } from "../../../support/door.ts";
import { OAuthProgram } from "../../../support/oauth-program.ts";
import { until } from "../../../support/until.ts";

/** Of the 1,100, those that do not read. */
const deaf = 100;

/** A process that holds every kind of connection that takes and gives nothing; resolves when all are there. */
async function crowdAt(url: string): Promise<{ opened: number; open: number }> {
  const child = fork(fileURLToPath(new URL("crowd-process.ts", import.meta.url)), [new URL(url).port], { execArgv: [] });
  onTestFinished(async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  });
  const crowd = { opened: 0, open: 0 };
  child.on("message", (news) => Object.assign(crowd, news));
  await until("all of the crowd are there", () => crowd.opened === 1_100, 60_000);
  return crowd;
}

test("a thousand slow, half-open and huge connections do not keep others from being answered, and are let go", async () => {
  const { url, mcpUrl, pair } = await openDoor();
  const token = await new OAuthProgram({ everywhere: true }).pair(mcpUrl, (await pair()).code);
  const crowd = await crowdAt(url);

  const slowest = { known: 0, stranger: 0 };
  const timed = async (who: keyof typeof slowest, path: string, headers: Record<string, string>) => {
    const began = performance.now();
    // A connection of its own each time, as whoever comes anew has.
    const answer = await fetch(`${url}${path}`, { headers: { connection: "close", ...headers } });
    await answer.text();
    slowest[who] = Math.max(slowest[who], performance.now() - began);
    return answer.status;
  };
  for (let n = 0; n < 20; n += 1) {
    expect(await timed("known", "/v1/threads", { authorization: `Bearer ${token}` })).toBe(200);
    expect(await timed("stranger", "/.well-known/oauth-authorization-server", {})).toBe(200);
  }
  // Alone on a machine it is well under a second while they come, and milliseconds then. The rest is room for one that is busy.
  expect(slowest.known).toBeLessThan(30_000);
  expect(slowest.stranger).toBeLessThan(30_000);
  // A new program gets in through all of them.
  await new OAuthProgram().pair(mcpUrl, (await pair()).code);

  // Whoever has said nothing, or drips its head or its body, is gone within the time that there is for it.
  await until("only those are left that hear nothing", () => crowd.open <= deaf, networkLimits.headersMs + 30_000);
}, 120_000);

test("closing ends in a moment with all of them open", async () => {
  const { url, served } = await openDoor();
  const crowd = await crowdAt(url);
  const began = performance.now();
  await served.close();
  expect(performance.now() - began).toBeLessThan(networkLimits.closeGraceMs + 10_000);
  await until("all that hear have heard it", () => crowd.open <= deaf, 30_000);
  await expect(fetch(url)).rejects.toThrow();
}, 120_000);
