import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EnvironmentConfig } from "../../schemas/config.ts";
import type { Grant } from "../../schemas/link.ts";
import { CommandRefused } from "../../services/runtime/environment-api.ts";
import { until } from "../support/environments.ts";
import { importTo } from "../support/link-talk.ts";
import { allGrants, bothFabrics, type LinkedSide, linked, settled } from "../support/linked.ts";

const fabrics = bothFabrics();
const readOnly: Grant[] = [{ kind: "read" }];

const configOf = (side: LinkedSide): EnvironmentConfig => JSON.parse(readFileSync(join(side.dir, "config.json"), "utf8"));

/** Ends it and starts another process's worth on what its folder says. */
async function restart(side: LinkedSide): Promise<void> {
  side.links = configOf(side).links;
  await side.stop();
  await side.start();
}

const inviteBy = (side: LinkedSide, grants: Grant[] = allGrants) => side.env.linkDesk.invite({ grants });
const joinBy = (side: LinkedSide, code: string, grants: Grant[] = allGrants) => side.env.linkDesk.join({ code, grants, waitMs: 10_000 });

async function refusalOf(attempt: Promise<unknown>) {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof CommandRefused) return error.refusal;
    throw error;
  }
  throw new Error("it was not refused");
}

describe.each(fabrics)("pairing with a code, %s", (_name, fabric) => {
  const environments = () => linked(fabric(), { a: {}, b: {}, c: {} }, []);

  test("a code makes one link on both sides, with the keys pinned and the same fingerprint, and it works at once and after a restart", async () => {
    const { a, b } = await environments();
    const offer = await inviteBy(a, allGrants);
    const joined = await joinBy(b, offer.code, readOnly);
    expect(joined).toMatchObject({ linkId: offer.linkId, environmentId: a.id, name: "a", created: true });
    expect([a.link(b).id, b.link(a).id]).toEqual([joined.linkId, joined.linkId]);
    expect([a.link(b).fingerprint, b.link(a).fingerprint]).toEqual([joined.fingerprint, joined.fingerprint]);
    expect(joined.fingerprint).toMatch(/^[0-9A-Z]{4}(-[0-9A-Z]{4}){4}$/);
    expect([a.link(b).grants, b.link(a).grants]).toEqual([allGrants, readOnly]);
    expect(configOf(a).links).toMatchObject([{ id: joined.linkId, name: "b", peer: { environmentId: b.id, publicKey: b.publicKey } }]);
    expect(configOf(b).links).toMatchObject([{ id: joined.linkId, name: "a", peer: { environmentId: a.id, publicKey: a.publicKey } }]);
    expect(a.env.linkDesk.invites()).toMatchObject([{ state: "used", usedBy: { environmentId: b.id, fingerprint: joined.fingerprint } }]);

    expect((await importTo(b, a, "live")).answer).toMatchObject({ ok: true });
    expect((await importTo(a, b, "not granted")).answer).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
    await restart(a);
    await restart(b);
    expect((await importTo(b, a, "restarted")).answer).toMatchObject({ ok: true });
    await settled(a, b);
  });

  test("a code works once: whoever joined with it hears the same again, also from a later process, and another is refused", async () => {
    const { a, b, c } = await environments();
    const { code } = await inviteBy(a);
    const first = await joinBy(b, code);
    expect(await joinBy(b, code)).toEqual({ ...first, created: false });
    expect(await refusalOf(joinBy(c, code))).toMatchObject({ reason: "code_used" });
    await restart(a);
    // As if it had been killed before it wrote down what it heard.
    b.links = [];
    await b.stop();
    await b.start();
    expect(await joinBy(b, code)).toEqual(first);
    expect(await refusalOf(joinBy(c, code))).toMatchObject({ reason: "code_used" });
    expect([configOf(a).links.length, configOf(b).links.length, configOf(c).links.length]).toEqual([1, 1, 0]);
  });

  test("of two that take up one code at the same moment one is linked, and the other is told", async () => {
    const { a, b, c } = await environments();
    const { code } = await inviteBy(a);
    const outcomes = await Promise.allSettled([joinBy(b, code), joinBy(c, code)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find((o) => o.status === "rejected")?.reason).toMatchObject({ refusal: { reason: "code_used" } });
    expect(a.env.links.list()).toHaveLength(1);
  });

  test("a joiner whose clock is a day ahead takes up a code as any other: only its maker's clock is asked", async () => {
    const { a, b } = await environments();
    const { code } = await inviteBy(a);
    b.ahead = 24 * 3_600_000;
    await restart(b);
    expect(await joinBy(b, code)).toMatchObject({ created: true });
    await settled(a, b);
  });

  test("a code that is too old is refused, whatever the joiner's clock says", async () => {
    const { a, b } = await environments();
    const { code } = await inviteBy(a);
    a.ahead = 2 * 3_600_000;
    await restart(a);
    expect(await refusalOf(joinBy(b, code))).toMatchObject({ reason: "code_expired", hint: expect.stringContaining("link invite") });
    expect([a.env.links.list(), b.env.links.list()]).toEqual([[], []]);
    expect(a.env.linkDesk.invites()).toMatchObject([{ state: "expired", usedBy: null }]);
  });

  test("an environment's own code is refused, and so is what is no code, cut short, or of another version", async () => {
    const { a, b } = await environments();
    const { code } = await inviteBy(a);
    expect(await refusalOf(joinBy(a, code))).toMatchObject({ reason: "own_code" });
    expect(await refusalOf(joinBy(b, "come in"))).toMatchObject({ reason: "not_a_code" });
    expect(await refusalOf(joinBy(b, code.slice(0, -3)))).toMatchObject({ reason: "code_damaged" });
    expect(await refusalOf(joinBy(b, code.replace("rw1", "rw2")))).toMatchObject({ reason: "wrong_version" });
    expect(b.env.links.list()).toEqual([]);
  });

  test("both inviting and joining at once makes one link", async () => {
    const { a, b } = await environments();
    const [ofA, ofB] = await Promise.all([inviteBy(a), inviteBy(b)]);
    const [byB, byA] = await Promise.all([joinBy(b, ofA.code), joinBy(a, ofB.code)]);
    expect(byA.linkId).toBe(byB.linkId);
    expect([configOf(a).links.length, configOf(b).links.length]).toEqual([1, 1]);
    expect((await importTo(a, b, "h")).answer).toMatchObject({ ok: true });
    await settled(a, b);
  });

  test("an environment that is linked keeps its one link when it pairs again, and comes in by no other key", async () => {
    const { a, b } = await environments();
    const first = await joinBy(b, (await inviteBy(a)).code);
    expect(await joinBy(b, (await inviteBy(a)).code)).toEqual({ ...first, created: false });
    b.links = [];
    await b.stop();
    await b.start();
    // Its configuration was lost, and its store was not: the link is the one that there was.
    expect(await joinBy(b, (await inviteBy(a)).code)).toMatchObject({ linkId: first.linkId, created: true });
    b.links = [];
    await b.stop();
    rmSync(join(b.dir, "keys"), { recursive: true });
    await b.start();
    expect(await refusalOf(joinBy(b, (await inviteBy(a)).code))).toMatchObject({ reason: "peer_key_differs" });
  });

  test("an inviter that sleeps is not waited for beyond the bound, and the same code works when it is awake", async () => {
    const { a, b } = await environments();
    const { code } = await inviteBy(a);
    await a.stop();
    const refused = await refusalOf(b.env.linkDesk.join({ code, grants: [], waitMs: 300 }));
    expect(refused).toMatchObject({ code: "orchestration_error", reason: "no_answer", hint: expect.stringContaining("same code") });
    expect(configOf(b).links).toEqual([]);
    await a.start();
    expect(await joinBy(b, code)).toMatchObject({ created: true });
    await until(() => a.link(b).status === "online" && b.link(a).status === "online", "both are online");
  });
});
