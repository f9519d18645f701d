import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClientGrant } from "../../../schemas/client.ts";
import type { ClientId, EnvironmentId } from "../../../schemas/ids.ts";
import { broadestModes } from "../../../schemas/modes.ts";
import { Clients } from "../../../services/oauth/clients.ts";
import { oauthLimits } from "../../../services/oauth/limits.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import { systemIdentifiers } from "../../../services/runtime/system-identifiers.ts";
import { temporaryFolder } from "../../support/environments.ts";

const grant: ClientGrant = { name: "laptop", maxModes: broadestModes, access: ["reads"] };
const registration = { program: "Ferry", redirectUris: ["http://127.0.0.1/cb"] };
const here: EnvironmentId = systemIdentifiers.next("env");

function shop({ dir = temporaryFolder(), clock = new MemoryClock(), id = here } = {}) {
  const clients = new Clients(dir, id, clock);
  const letIn = () => {
    const client = clients.register(registration);
    const issued = clients.issue(client.id, grant, ["mcp", "v1"]);
    return { id: client.id, token: issued?.token ?? "", name: issued?.name ?? "" };
  };
  return { dir, clock, clients, file: join(dir, "clients.json"), letIn };
}

const refusalOf = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    return (error as { refusal?: { reason: string; hint: string } }).refusal;
  }
  return undefined;
};

test("a token says who comes and what it was given, also after a restart; the file holds no token", () => {
  const first = shop();
  const { id, token } = first.letIn();
  const caller = { kind: "client", clientId: id, maxModes: broadestModes, access: ["reads"] };
  expect(first.clients.callerOf(token, "mcp")).toEqual(caller);
  const kept = readFileSync(first.file, "utf8");
  expect(kept).not.toContain(token);
  expect(kept).not.toContain(token.split(".")[1]);
  expect(statSync(first.file).mode & 0o777).toBe(0o600);
  expect(readdirSync(first.dir)).toEqual(["clients.json"]);
  expect(shop(first).clients.callerOf(token, "v1")).toEqual(caller);
});

test("a token that is another in one place, of another environment, or of another kind, is nobody's", () => {
  const own = shop();
  const { token } = own.letIn();
  const [name = "", secret = ""] = token.split(".");
  const flipped = `${name}.${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;
  for (const wrong of [
    flipped,
    name,
    `${name}.`,
    `${token}.x`,
    token.toUpperCase(),
    token.replace("rwc_", "rwt_"),
    "",
    "x".repeat(100_000),
  ])
    expect(own.clients.callerOf(wrong, "mcp")).toBeNull();
  // The same file in another environment's folder gives nobody anything.
  expect(shop({ dir: own.dir, id: systemIdentifiers.next("env") }).clients.callerOf(token, "mcp")).toBeNull();
});

test("a token is good for thirty days and not a moment longer", async () => {
  const { clients, clock, letIn } = shop();
  const { token } = letIn();
  await clock.advance(30 * 86_400_000 - 1);
  expect(clients.callerOf(token, "mcp")).not.toBeNull();
  expect(clients.list()).toHaveLength(1);
  await clock.advance(1);
  expect(clients.callerOf(token, "mcp")).toBeNull();
  expect(clients.list()).toEqual([]);
});

test("a token that is for one resource is not good for another", () => {
  const { clients } = shop();
  const { id } = clients.register(registration);
  const token = clients.issue(id, grant, ["mcp"])?.token ?? "";
  expect(clients.callerOf(token, "mcp")).not.toBeNull();
  expect(clients.callerOf(token, "v1")).toBeNull();
});

test("what is revoked is so at once and after a restart, and whoever listens is told; others keep theirs", () => {
  const own = shop();
  const [a, b] = [own.letIn(), own.letIn()];
  let told = 0;
  own.clients.onRevoked(() => {
    told += 1;
  });
  expect(own.clients.revoke(a.id)).toBe(true);
  expect(told).toBe(1);
  for (const { clients } of [own, shop(own)]) {
    expect(clients.callerOf(a.token, "mcp")).toBeNull();
    expect(clients.callerOf(b.token, "mcp")).not.toBeNull();
    expect(clients.list().map(({ id }) => id)).toEqual([b.id]);
    expect(clients.get(a.id)).not.toBeNull();
  }
  expect(own.clients.revoke(a.id)).toBe(false);
  expect(own.clients.revoke("client:unknown" as ClientId)).toBe(false);
});

test("a revocation that cannot be written holds all the same, and says so; what cannot be written is given to nobody", () => {
  const own = shop();
  const { id, token } = own.letIn();
  mkdirSync(`${own.file}.new`);
  expect(refusalOf(() => own.clients.register(registration))?.reason).toBe("clients_unwritable");
  expect(refusalOf(() => own.clients.issue(id, { ...grant, name: "other" }, ["mcp"]))?.reason).toBe("clients_unwritable");
  expect(own.clients.list()[0]?.name).toBe("laptop");
  expect(own.clients.list()[0]?.tokens).toHaveLength(1);
  expect(own.clients.callerOf(token, "mcp")).not.toBeNull();
  expect(refusalOf(() => own.clients.revoke(id))?.reason).toBe("clients_unwritable");
  expect(own.clients.callerOf(token, "mcp")).toBeNull();
  rmSync(`${own.file}.new`, { recursive: true });
});

test("programs that nobody let in are kept in a bounded number, the oldest goes; those that were let in stay", async () => {
  const { clients, clock, letIn } = shop();
  const { id, token } = letIn();
  const strangers: ClientId[] = [];
  for (let n = 0; n <= oauthLimits.strangers; n += 1) {
    await clock.advance(1);
    strangers.push(clients.register(registration).id);
  }
  expect(clients.get(strangers[0] ?? "")).toBeNull();
  expect(strangers.slice(1).every((one) => clients.get(one) !== null)).toBe(true);
  expect(clients.get(id)).not.toBeNull();
  expect(clients.callerOf(token, "mcp")).not.toBeNull();
});

test("a program has a bounded number of tokens, the oldest goes", () => {
  const { clients } = shop();
  const { id } = clients.register(registration);
  const tokens = Array.from({ length: oauthLimits.tokensPerClient + 1 }, () => clients.issue(id, grant, ["mcp"])?.token ?? "");
  expect(tokens.map((token) => clients.callerOf(token, "mcp") !== null)).toEqual([false, ...Array(oauthLimits.tokensPerClient).fill(true)]);
});

test("when a token was used last is known, and written when it is an hour old or the environment stops", async () => {
  const own = shop();
  const { token } = own.letIn();
  await own.clock.advance(1_000);
  own.clients.callerOf(token, "mcp");
  const used = own.clock.now();
  expect(own.clients.list()[0]?.tokens[0]?.usedAt).toBe(used);
  expect(shop(own).clients.list()[0]?.tokens[0]?.usedAt).toBeNull();
  own.clients.flush();
  expect(shop(own).clients.list()[0]?.tokens[0]?.usedAt).toBe(used);
});

test.each([
  ["no JSON", "{"],
  ["cut off", '{"version":1,"clients":[{"id":"client:a"'],
  ["another version", '{"version":2,"clients":[]}'],
  ["a member that nobody knows", '{"version":1,"clients":[],"more":1}'],
  ["nothing", ""],
])("a file that holds %s is refused with what to do, and is left as it is", (_, text) => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, "clients.json"), text, { mode: 0o600 });
  const refused = refusalOf(() => shop({ dir }));
  expect(refused?.reason).toBe("clients_damaged");
  expect(refused?.hint).toContain("ropewalk client add");
  expect(readFileSync(join(dir, "clients.json"), "utf8")).toBe(text);
});

test.skipIf(process.platform === "win32")("a file that others can read is refused", () => {
  const own = shop();
  own.letIn();
  chmodSync(own.file, 0o644);
  expect(refusalOf(() => shop(own))).toMatchObject({ reason: "clients_too_open", hint: `Run: chmod 600 ${own.file}` });
});
