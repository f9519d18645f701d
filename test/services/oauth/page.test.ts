import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { guessRate } from "../../../services/oauth/limits.ts";
import { openPage } from "../../support/browser.ts";
import { byHand, redirectUri } from "./rig.ts";

test("the page says who asks, where the answer goes and what is asked for; then what the code gives of that", async () => {
  const by = await byHand();
  const ask = await by.page({ scope: "reads writes_environment runtime:auto" });
  expect(ask.status).toBe(200);
  expect(ask.text).toContain("By hand");
  expect(ask.text).toContain("this computer (127.0.0.1:7777)");
  expect(ask.text).toContain("add folders as projects");
  const { code } = await by.pair({ access: ["reads", "writes"], runtimeMode: "full-access" });
  const look = await ask.press("Continue", { code });
  expect(look.status).toBe(200);
  expect(look.text).toContain("read every thread");
  for (const absent of ["add folders as projects", "stop agents", "full-access"]) expect(look.text).not.toContain(absent);
  expect(look.text).toContain("<code>auto</code>");
  // Looking has used nothing and given nothing.
  expect((await look.press("Allow")).status).toBe(303);
});

test("saying no goes back to the program, at either step, and leaves the code as it was", async () => {
  const by = await byHand();
  const { code } = await by.pair();
  const ask = await by.page();
  const look = await ask.press("Continue", { code });
  for (const page of [ask, look]) {
    const denied = await page.press("Deny");
    expect(denied.status).toBe(303);
    const sent = new URL(denied.location ?? "").searchParams;
    expect([sent.get("error"), sent.get("state"), sent.get("code")]).toEqual(["access_denied", "the state", null]);
  }
  expect((await look.press("Allow")).status).toBe(303);
  expect((await look.press("Allow")).status).toBe(403);
});

test("everything that a program says of itself is shown as text", async () => {
  const by = await byHand();
  const { body } = await by.register({ client_name: `<script>alert(1)</script>"'&` });
  const page = await by.page({ client_id: String(body.client_id), state: `"><script>` });
  expect(page.text).not.toContain("<script");
  expect(page.text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
  const typed = await page.press("Continue", { code: `"><img src=x>` });
  expect(typed.text).not.toContain("<img");
});

test("a page may run nothing, load nothing, be framed by nobody and kept by nobody; its form ends here or at the program", async () => {
  const by = await byHand();
  const pages = [await by.page(), await by.page({ client_id: "nobody" }), await (await by.page()).press("Continue", { code: "wrong" })];
  for (const { headers, text } of pages) {
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("base-uri 'none'");
    expect(policy).not.toContain("unsafe");
    const style = /<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? "";
    expect(policy).toContain(`style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("same-origin");
    expect(text).not.toMatch(/\son\w+=|style=|<script|https?:\/\/(?!127\.0\.0\.1)/);
  }
  expect(pages[0]?.headers.get("content-security-policy")).toContain(`form-action 'self' ${new URL(redirectUri).origin}`);
  expect(pages[1]?.headers.get("content-security-policy")).toMatch(/form-action 'self'(;|$)/);
});

test("every field has a label, what is wrong is said with it, and the page grows with its reader's screen", async () => {
  const by = await byHand();
  const page = await by.page();
  for (const [, id] of page.text.matchAll(/<input id="(\w+)"/g)) expect(page.text).toContain(`<label for="${id}">`);
  expect(page.text).toContain('<html lang="en">');
  expect(page.text).toContain('name="viewport" content="width=device-width, initial-scale=1"');
  const wrong = await page.press("Continue", { code: "wrong" });
  expect(wrong.status).toBe(403);
  expect(wrong.text).toContain('role="alert" id="wrong"');
  expect(wrong.text).toContain('aria-describedby="wrong hint" aria-invalid="true"');
});

test("a form that comes from another page, or says from nowhere, is not taken, and no guess is counted for it", async () => {
  const by = await byHand();
  const { code } = await by.pair();
  for (const origin of [undefined, "null", "https://evil.example", by.url.replace("127.0.0.1", "localhost"), "http://127.0.0.1:1"]) {
    const answer = await fetch(by.address(), {
      method: "POST",
      redirect: "manual",
      headers: origin === undefined ? {} : { origin },
      body: new URLSearchParams({ code, decision: "allow" }),
    });
    expect([origin, answer.status]).toEqual([origin, 403]);
  }
  expect((await (await (await by.page()).press("Continue", { code })).press("Allow")).status).toBe(303);
});

test("whoever guesses codes has to wait, is told how long, and finds nothing even with the right one; then it goes on", async () => {
  const by = await byHand();
  const { code } = await by.pair();
  const page = await by.page();
  for (let n = 0; n < guessRate.perAddress; n += 1) expect((await page.press("Continue", { code: `WRONG-${n}` })).status).toBe(403);
  const full = await page.press("Continue", { code });
  expect([full.status, full.headers.get("retry-after")]).toEqual([429, "600"]);
  expect(full.text).toContain("10 minutes");
  await by.clock.advance(guessRate.windowMs);
  const { code: fresh } = await by.pair();
  expect((await (await page.press("Continue", { code: fresh })).press("Allow")).status).toBe(303);
});

test("a code that gives nothing of what is asked for is not used up by that, and says so", async () => {
  const by = await byHand();
  const { code } = await by.pair({ access: ["reads"] });
  const page = await by.page({ scope: "writes" });
  const answer = await page.press("Continue", { code });
  expect(answer.status).toBe(403);
  expect(answer.text).toContain("--access");
  expect((await (await (await by.page({ scope: "reads" })).press("Continue", { code })).press("Allow")).status).toBe(303);
});

test("two pages cannot use one code", async () => {
  const by = await byHand();
  const { code } = await by.pair();
  const looks = await Promise.all([by.page(), by.page()].map(async (page) => (await page).press("Continue", { code })));
  const done = await Promise.all(looks.map((look) => look.press("Allow")));
  expect(done.map(({ status }) => status).sort()).toEqual([303, 403]);
});

test("a form without a decision, of another kind, or with a field twice, decides nothing", async () => {
  const by = await byHand();
  const { code } = await by.pair();
  const post = async (body: string, type = "application/x-www-form-urlencoded") => {
    const headers = { origin: by.url, "content-type": type };
    return (await fetch(by.address(), { method: "POST", redirect: "manual", headers, body })).status;
  };
  expect(await post(`code=${code}`)).toBe(400);
  expect(await post(`code=${code}&decision=maybe`)).toBe(400);
  expect(await post(`code=${code}&decision=allow&decision=deny`)).toBe(400);
  expect(await post(JSON.stringify({ code, decision: "allow" }), "application/json")).toBe(400);
  expect(await post("x".repeat(70_000))).toBe(413);
  expect((await openPage(by.address())).status).toBe(200);
});
