import { expect, test } from "vitest";
import { answerAt, isRegistered, policySource, whereTo, whyNotRedirect } from "../../../services/oauth/redirect-uri.ts";

test.each([
  "https://claude.example/callback",
  "https://host.example:8443/a?b=c",
  "http://127.0.0.1:33418/callback",
  "http://localhost/callback",
  "http://[::1]:9/x",
  "cursor://some.host/oauth/callback",
  "com.example.app:/oauth",
])("an answer can go to %s", (uri) => {
  expect(whyNotRedirect(uri)).toBeNull();
});

test.each([
  "http://example.org/callback",
  "http://127.0.0.1.evil.example/",
  "http://localhost.evil.example/",
  "http://10.0.0.1/",
  "javascript:alert(1)",
  "JavaScript:alert(1)",
  "data:text/html,x",
  "file:///etc/passwd",
  "blob:https://x.example/1",
  "https://user:word@host.example/",
  "https://user@host.example/",
  "https://host.example/#part",
  "http://127.0.0.1:1\\@evil.example/",
  "https://host.example/a b",
  "https://host.example/\n",
  "https://höst.example/",
  "/callback",
  "callback",
  "",
])("no answer goes to %j", (uri) => {
  expect(whyNotRedirect(uri)).not.toBeNull();
});

test("an address is what was registered, to the letter; on this machine alone the port may differ", () => {
  const registered = ["https://host.example/cb", "http://127.0.0.1:1000/cb?x=1", "cursor://a/cb"];
  const yes = [...registered, "http://127.0.0.1:2000/cb?x=1", "http://127.0.0.1/cb?x=1"];
  const no = [
    "https://host.example/cb/",
    "https://host.example:444/cb",
    "https://host.example/cb?y",
    "https://HOST.example/cb",
    "https://other.example/cb",
    "http://127.0.0.1:1000/cb?x=2",
    "http://127.0.0.1:1000/other?x=1",
    "http://localhost:1000/cb?x=1",
    "http://127.0.0.2:1000/cb?x=1",
    "https://127.0.0.1:1000/cb?x=1",
    "cursor://b/cb",
  ];
  for (const uri of yes) expect([uri, isRegistered(uri, registered)]).toEqual([uri, true]);
  for (const uri of no) expect([uri, isRegistered(uri, registered)]).toEqual([uri, false]);
});

test("what is answered is added to the address as it stands, and cannot break out of it", () => {
  expect(answerAt("https://h.example/cb", { code: "a&b=c", state: undefined })).toBe("https://h.example/cb?code=a%26b%3Dc");
  expect(answerAt("https://h.example/cb?x=1", { state: "s\r\nset-cookie: x" })).toBe(
    "https://h.example/cb?x=1&state=s%0D%0Aset-cookie%3A+x",
  );
});

test("a person is told the host, and the page's policy names no more than where the answer goes", () => {
  expect(whereTo("https://host.example:8443/cb")).toBe("host.example:8443");
  expect(whereTo("http://127.0.0.1:5/cb")).toBe("this computer (127.0.0.1:5)");
  expect(whereTo("cursor://a/cb")).toContain("cursor:");
  expect(policySource("https://host.example:8443/cb")).toBe("https://host.example:8443");
  expect(policySource("http://[::1]:5/cb")).toBe("http:");
  expect(policySource("cursor://a/cb")).toBe("cursor:");
});
