import { expect, test } from "vitest";
import { selfSigned, trust } from "../../support/certificate.ts";
import { OAuthProgram } from "../../support/oauth-program.ts";
import { config, lately, world } from "./rig.ts";

test("a program is let in by the code that was printed, is listed, and is out when it is revoked", async () => {
  const at = world();
  const running = await at.up();
  const url = /come in at (http:\/\/127\.0\.0\.1:\d+) /.exec(running.stdout())?.[1];
  const added = await at.run("client", "add", "--name", "my tablet", "--access", "reads,writes", "--runtime-mode", "auto");
  expect(added.code).toBe(0);
  expect(added.stdout).toContain("good once, for 10 minutes");
  expect(added.stdout).toContain(`${url}/mcp`);
  expect(added.stdout).toContain("reads, writes\n");
  expect(added.stdout).toContain("at most auto, default");
  const code = /^code +(\S+)/m.exec(added.stdout)?.[1] ?? "";

  expect((await at.run("client", "list")).stdout).toContain("nobody is let in");
  const token = await new OAuthProgram({ name: "Ferry", everywhere: true }).pair(`${url}/mcp`, code);
  const status = () => fetch(`${url}/v1/threads`, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.status);
  expect(await status()).toBe(200);

  const listed = await at.run("client", "list");
  expect(listed.stdout).toMatch(
    new RegExp(`^my tablet \\(Ferry\\) +[0-9a-f-]{8,} +reads, writes; auto, default +used ${lately} +for 30 days$`, "m"),
  );
  const { clients, url: told } = await at.json("client", "list");
  expect([told, clients.length]).toEqual([url, 1]);
  expect(JSON.stringify(clients)).not.toContain(token.split(".")[1]);
  expect((await at.run("status")).stdout).toContain(`come in at ${url}; 1 client let in`);

  const revoked = await at.run("client", "revoke", "my tablet");
  expect(revoked.stdout).toMatch(/^my tablet \(client:[0-9a-f-]{36}\) has no access any more$/m);
  expect(await status()).toBe(401);
  expect((await at.run("client", "revoke", clients[0].id)).code).toBe(2);
});

test("a client is named by its name, its id, or a unique beginning of it", async () => {
  const at = world();
  await at.up();
  const letIn = async (name: string) => {
    const { code, mcpUrl } = await at.json("client", "add", "--name", name);
    await new OAuthProgram({ name }).pair(mcpUrl, code);
  };
  for (const name of ["same", "same", "other"]) await letIn(name);
  expect(await at.run("--json", "client", "revoke", "same")).toMatchObject({
    code: 2,
    json: { refusal: { reason: "ambiguous_reference" } },
  });
  expect(await at.run("--json", "client", "revoke", "nobody")).toMatchObject({
    code: 2,
    json: { refusal: { reason: "unknown_reference" } },
  });
  expect(await at.run("--json", "client", "revoke", "")).toMatchObject({ code: 2 });
  const { clients } = await at.json("client", "list");
  await at.json("client", "revoke", clients[0].id);
  await at.json("client", "revoke", clients[1].id.slice("client:".length));
  expect((await at.json("client", "list")).clients).toHaveLength(1);
});

test("an environment that would serve plain HTTP to others does not start, and says what to do", async () => {
  const at = world();
  for (const start of [["up"], ["up", "--detach"]]) {
    const refused = await at.run("--json", ...start, "--listen", "0.0.0.0:0");
    expect(refused).toMatchObject({ code: 2, json: { refusal: { reason: "plain_http", hint: expect.stringContaining("--tls-cert") } } });
  }
  at.put("config.json", config({ http: { host: "0.0.0.0" } }));
  expect(await at.run("--json", "ls")).toMatchObject({ code: 2, json: { refusal: { reason: "plain_http" } } });
  expect((await at.run("--json", "status")).code).toBe(4);
});

test("what was typed for up also holds in the background: TLS, a name, and nothing at all", async () => {
  const tls = selfSigned();
  trust(tls.cert);
  const at = world();
  const files = ["--tls-cert", tls.cert, "--tls-key", tls.key];
  const { url } = await at.json("up", "--detach", "--listen", "localhost:0", ...files, "--allow-host", "box.example");
  expect(url).toMatch(/^https:\/\/localhost:\d+$/);
  const { code, mcpUrl } = await at.json("client", "add");
  expect(mcpUrl).toBe(`${url}/mcp`);
  await new OAuthProgram().pair(mcpUrl, code);
  await at.run("down");

  expect((await at.json("up", "--detach", "--listen", "off")).url).toBeNull();
  expect(await at.run("--json", "client", "add")).toMatchObject({ code: 3, json: { refusal: { reason: "no_listener" } } });
  expect((await at.run("status")).stdout).toContain("nothing listens on the network; 1 client let in");
});

test.each([
  ["an address that is none", ["--listen", "http://127.0.0.1:80"], "listen_address"],
  ["a port beyond all", ["--listen", "127.0.0.1:70000"], "listen_address"],
  ["half a certificate", ["--tls-cert", "cert.pem"], "tls_half"],
  ["off and more", ["--listen", "off", "--public-url", "https://x.example"], "listen_off"],
  ["a certificate that is not there", ["--tls-cert", "cert.pem", "--tls-key", "key.pem"], "tls_unusable"],
  ["an address from outside that is plain", ["--public-url", "http://x.example"], "bad_public_url"],
  ["a name that is none", ["--allow-host", "https://x.example"], "bad_host"],
])("up with %s is wrong input", async (_, options, reason) => {
  const refused = await world().run("--json", "up", ...options);
  expect(refused).toMatchObject({ code: 2, json: { refusal: { reason } } });
});

test("an access that there is not is wrong input, for a client as for an agent's tools", async () => {
  const at = world();
  for (const command of [["client", "add"], ["mcp"]])
    expect(await at.run("--json", ...command, "--access", "reads,everything")).toMatchObject({
      code: 2,
      json: { refusal: { reason: "access_kind" } },
    });
});

test("a file of clients that is damaged keeps the environment from starting, with what to do", async () => {
  const at = world();
  at.put("clients.json", "{");
  const refused = await at.run("--json", "up");
  expect(refused).toMatchObject({ code: 3, json: { refusal: { reason: expect.stringMatching(/^clients_/) } } });
});
