import { request } from "node:http";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import type { HttpConfig } from "../../../../schemas/config.ts";
import { addressOf } from "../../../../services/http/network/address.ts";
import { guard } from "../../../../services/http/network/guard.ts";
import { networkSettings } from "../../../../services/http/network/settings.ts";
import { openDoor } from "../../../support/door.ts";
import { temporaryFolder } from "../../../support/environments.ts";

function asked(config: HttpConfig, host: string | undefined, origin?: string, localAddress = "127.0.0.1") {
  const headers = { ...(host !== undefined && { host }), ...(origin !== undefined && { origin }) };
  const answer = guard({ headers, socket: { localAddress } as Socket }, networkSettings(config, temporaryFolder()));
  return answer.ok ? answer.origin : answer.refusal.reason;
}

test.each([
  ["127.0.0.1:4321", "http://127.0.0.1:4321"],
  ["localhost:4321", "http://localhost:4321"],
  ["LOCALHOST", "http://localhost"],
  ["localhost.:4321", "http://localhost.:4321"],
  ["[::1]:4321", "http://[::1]:4321"],
  ["127.9.9.9:1", "http://127.9.9.9:1"],
])("called %s, it is this machine", (host, origin) => {
  expect(asked({}, host)).toBe(origin);
});

test.each([
  undefined,
  "",
  "evil.example",
  "evil.example:4321",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "evil.example#localhost",
  "localhost@evil.example",
  "localhost:4321:80",
  "local host",
  "0.0.0.0",
  "127.0.0.1, evil.example",
  "192.168.1.5",
  "0x7f.0.0.1",
  "[::ffff:127.0.0.1]",
  "localhost/path",
])("called %j, it does not answer", (host) => {
  expect(asked({}, host)).toBe("foreign_host");
});

test("it answers to the names that the configuration gives it, and to no other", () => {
  const behind = { publicUrl: "https://box.example.org", allowedHosts: ["other.example", "[fd00::5]"] };
  // A proxy takes TLS off: the address as programs call it is https.
  expect(asked(behind, "box.example.org")).toBe("https://box.example.org");
  expect(asked(behind, "other.example:8443")).toBe("https://other.example:8443");
  expect(asked(behind, "[fd00::5]")).toBe("https://[fd00::5]");
  expect(asked(behind, "localhost:4321")).toBe("http://localhost:4321");
  expect(asked(behind, "sub.box.example.org")).toBe("foreign_host");
  expect(asked({ allowedHosts: ["box.lan"] }, "box.lan:80")).toBe("http://box.lan:80");
});

test("listening on every address, it may also be called by the one at which a connection came in", () => {
  const every = { host: "0.0.0.0", publicUrl: "https://box.example.org" };
  expect(asked(every, "192.168.1.5:4321", undefined, "192.168.1.5")).toBe("https://192.168.1.5:4321");
  expect(asked(every, "192.168.1.6:4321", undefined, "192.168.1.5")).toBe("foreign_host");
  expect(asked(every, "192.168.1.5", undefined, "::ffff:192.168.1.5")).toBe("https://192.168.1.5");
});

test("a page of another site is refused whatever host it names; pages of its own names are not", () => {
  for (const origin of ["https://evil.example", "null", "", "http://localhost.evil.example", "file://", "chrome-extension://abc"])
    expect([origin, asked({}, "localhost:4321", origin)]).toEqual([origin, "foreign_origin"]);
  for (const origin of ["http://localhost:4321", "http://127.0.0.1:4321", "http://localhost:6274"])
    expect(asked({}, "localhost:4321", origin)).toBe("http://localhost:4321");
  expect(asked({ publicUrl: "https://box.example.org" }, "box.example.org", "https://box.example.org")).toBe("https://box.example.org");
});

const refusalOf = (config: HttpConfig) => {
  try {
    networkSettings(config, temporaryFolder());
  } catch (error) {
    return (error as { refusal: { code: string; reason: string; hint: string } }).refusal;
  }
  return null;
};

test.each(["0.0.0.0", "::", "192.168.1.5", "box.example.org", "127.0.0.1.evil.example", "fd00::5"])(
  "plain HTTP on %s is refused, with what to do",
  (host) => {
    const refused = refusalOf({ host });
    expect(refused).toMatchObject({ code: "invalid_request", reason: "plain_http" });
    for (const way of ["--tls-cert", "--public-url"]) expect(refused?.hint).toContain(way);
    expect(refusalOf({ host, publicUrl: "https://box.example.org" })).toBeNull();
  },
);

test.each(["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"])("plain HTTP on %s is this machine's own business", (host) => {
  expect(refusalOf({ host })).toBeNull();
});

test.each([
  "http://box.example.org",
  "https://box.example.org/ropewalk",
  "https://user@box.example.org",
  "https://box.example.org?x",
  "ftp://box.example.org",
  "box.example.org",
])("%s cannot be where programs come in", (publicUrl) => {
  expect(refusalOf({ publicUrl })).toMatchObject({ reason: "bad_public_url" });
});

test("a name with a scheme, a port or a path is no host's name", () => {
  for (const one of ["https://x.example", "x.example:80", "x.example/y", "", "x y", "*"].filter((text) => text !== ""))
    expect([one, refusalOf({ allowedHosts: [one] })?.reason]).toEqual([one, "bad_host"]);
  for (const one of ["x.example", "X.EXAMPLE.", "10.0.0.1", "fd00::5", "[fd00::5]"])
    expect([one, refusalOf({ allowedHosts: [one] })]).toEqual([one, null]);
});

test("a certificate that is not there, or is none, is refused", () => {
  expect(refusalOf({ tls: { cert: "absent.pem", key: "absent.pem" } })).toMatchObject({ reason: "tls_unusable" });
});

test("what is counted by address is counted for the other end; a proxy on this machine says for whom", () => {
  const from = (remoteAddress: string, told?: string, isBehindProxy = false) =>
    addressOf({ socket: { remoteAddress } as Socket, headers: told === undefined ? {} : { "x-forwarded-for": told } }, isBehindProxy);
  expect(from("203.0.113.9", "198.51.100.1")).toBe("203.0.113.9");
  expect(from("203.0.113.9", "198.51.100.1", true)).toBe("203.0.113.9");
  expect(from("127.0.0.1", "198.51.100.1")).toBe("127.0.0.1");
  expect(from("127.0.0.1", "10.0.0.1, 198.51.100.1", true)).toBe("198.51.100.1");
  expect(from("::1", " 198.51.100.1 ", true)).toBe("198.51.100.1");
  expect(from("127.0.0.1", "nobody", true)).toBe("127.0.0.1");
  expect(from("::ffff:203.0.113.9")).toBe("203.0.113.9");
  // A household has a network of version 6 addresses, not one.
  expect(from("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
  expect(from("2001:db8:1:2::6")).toBe("2001:db8:1:2::/64");
  expect(from("2001:db8::6")).toBe("2001:db8:0:0::/64");
});

test("a foreign Host or Origin is answered 403 with problem details, on every path and before anything is asked", async () => {
  const { url } = await openDoor();
  for (const path of ["/mcp", "/v1/threads", "/oauth/token", "/.well-known/oauth-authorization-server", "/"]) {
    for (const headers of [{ host: "evil.example" }, { origin: "https://evil.example" }] as Record<string, string>[]) {
      const answer = await bare(url, path, headers);
      expect([path, answer.status, answer.type]).toEqual([path, 403, "application/problem+json"]);
      expect(answer.body).toMatchObject({ status: 403, code: "capability_denied", reason: expect.stringMatching(/^foreign_/) });
    }
  }
});

/** A request with headers that `fetch` would not send. */
function bare(url: string, path: string, headers: Record<string, string>): Promise<{ status?: number; type?: string; body: unknown }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, url), { method: "POST", headers }, async (incoming) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      resolve({
        ...(incoming.statusCode !== undefined && { status: incoming.statusCode }),
        ...(incoming.headers["content-type"] !== undefined && { type: incoming.headers["content-type"] }),
        body: JSON.parse(Buffer.concat(chunks).toString()),
      });
    });
    outgoing.once("error", reject);
    outgoing.end();
  });
}
