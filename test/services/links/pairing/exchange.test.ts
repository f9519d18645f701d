import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PairingCode } from "../../../../schemas/pairing.ts";
import { generateKeys } from "../../../../services/links/keys.ts";
import { silentLog } from "../../../../services/links/link-side.ts";
import { createMemoryFabric } from "../../../../services/links/memory/transport.ts";
import { toInviter, toJoiner } from "../../../../services/links/pairing/channels.ts";
import { Inviter, type PairingSelf } from "../../../../services/links/pairing/inviter.ts";
import { Invites } from "../../../../services/links/pairing/invites.ts";
import { takeUpCode } from "../../../../services/links/pairing/joiner.ts";
import { openPairing, provePairing, sealPairing } from "../../../../services/links/pairing/sealing.ts";
import type { LinkTransport } from "../../../../services/runtime/ports/link-transport.ts";
import { systemClock } from "../../../../services/runtime/system-clock.ts";
import { systemIdentifiers as ids } from "../../../../services/runtime/system-identifiers.ts";
import { until } from "../../../support/until.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "ropewalk-pairing-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const self = (name: string): PairingSelf => ({ environmentId: ids.next("env"), name, keys: generateKeys() });

/** An inviter that listens for one code, and a fabric on which anybody may speak. */
async function inviting() {
  const fabric = createMemoryFabric({ clock: systemClock });
  const open = (name: string): LinkTransport => {
    const transport = fabric.transport(name);
    transport.start({ onState() {}, onRenewed() {} });
    return transport;
  };
  const host = self("host");
  const accepted: string[] = [];
  const invites = new Invites(dir);
  const inviter = new Inviter({
    self: host,
    invites,
    clock: systemClock,
    log: silentLog,
    known: () => ({ linked: null, crossing: null }),
    async accepted(_invite, joiner) {
      accepted.push(joiner.environmentId);
    },
  });
  const { invite } = inviter.make({ name: null, grants: [], broker: null, validForMs: 60_000 }, ids.next("invite"));
  await inviter.listen(invite, open("host"));
  const { environmentId, keys } = host;
  const code: PairingCode = { invite: invite.id, environmentId, publicKey: keys.publicKey, secret: invite.secret, broker: null };
  return { open, host, inviter, invites, accepted, code };
}

const given = (transport: LinkTransport, waitMs = 5_000) => ({ transport, clock: systemClock, waitMs });

test("what is not sealed with the code's secret is passed over, and the code stays good", async () => {
  const { open, code, accepted } = await inviting();
  const stranger = open("stranger");
  for (const bytes of [Buffer.alloc(0), Buffer.from("{}"), Buffer.alloc(200, 7)]) await stranger.publish(toInviter(code), bytes);
  const wrong = sealPairing("A".repeat(22), code.invite, "joiner", "{}");
  await stranger.publish(toInviter(code), wrong);
  // What the inviter itself says is not taken for a joiner's word.
  await stranger.publish(toInviter(code), sealPairing(code.secret, code.invite, "inviter", "{}"));
  const guest = self("guest");
  expect(await takeUpCode(code, guest, given(open("guest")))).toMatchObject({ ok: true, inviterName: "host" });
  expect(accepted).toEqual([guest.environmentId]);
});

test("whoever has the code, but not the private key of the public one that it shows, is refused", async () => {
  const { open, code, accepted } = await inviting();
  const [victim, own] = [generateKeys(), generateKeys()];
  const [transport, environmentId] = [open("thief"), ids.next("env")];
  const answers: Uint8Array[] = [];
  await transport.consume(toJoiner(code, environmentId), async (batch) => void answers.push(...batch));
  const parties = {
    invite: code.invite,
    inviter: { environmentId: code.environmentId, publicKey: code.publicKey },
    joiner: { environmentId, publicKey: victim.publicKey },
  };
  const proof = provePairing(own.agree(code.publicKey), code.secret, "joiner", parties, ["thief"]);
  const hello = { v: 1, environmentId, name: "thief", publicKey: victim.publicKey, proof };
  await transport.publish(toInviter(code), sealPairing(code.secret, code.invite, "joiner", JSON.stringify(hello)));
  await until("it was answered", () => answers.length > 0);
  const text = openPairing(code.secret, code.invite, "inviter", answers[0] as Uint8Array);
  expect(JSON.parse(text ?? "")).toMatchObject({ ok: false, refusal: { reason: "key_not_proven" } });
  expect(accepted).toEqual([]);
});

test("the word of somebody who has seen the code, but has not the inviter's key, is not believed", async () => {
  const { open, code, inviter } = await inviting();
  await inviter.stop();
  const guest = self("guest");
  const forger = open("forger");
  const parties = {
    invite: code.invite,
    inviter: { environmentId: code.environmentId, publicKey: code.publicKey },
    joiner: { environmentId: guest.environmentId, publicKey: guest.keys.publicKey },
  };
  const linkId = ids.next("link");
  const proof = provePairing(generateKeys().agree(guest.keys.publicKey), code.secret, "inviter", parties, [linkId, "host"]);
  const forged = JSON.stringify({ ok: true, linkId, name: "host", proof });
  await forger.publish(toJoiner(code, guest.environmentId), sealPairing(code.secret, code.invite, "inviter", forged));
  expect(await takeUpCode(code, guest, given(open("guest"), 300))).toMatchObject({ ok: false, refusal: { reason: "no_answer" } });
});

test("a joiner of another version is told so, and the code stays good for one of this version", async () => {
  const { open, code, host, accepted } = await inviting();
  const newer = self("newer");
  const transport = open("newer");
  const answers: Uint8Array[] = [];
  await transport.consume(toJoiner(code, newer.environmentId), async (batch) => void answers.push(...batch));
  const hello = {
    v: 9,
    environmentId: newer.environmentId,
    name: "newer",
    publicKey: newer.keys.publicKey,
    proof: "of another kind",
    more: 1,
  };
  await transport.publish(toInviter(code), sealPairing(code.secret, code.invite, "joiner", JSON.stringify(hello)));
  await until("it was answered", () => answers.length > 0);
  const text = openPairing(code.secret, code.invite, "inviter", answers[0] as Uint8Array);
  expect(JSON.parse(text ?? "")).toMatchObject({ ok: false, refusal: { reason: "wrong_version" } });
  expect(accepted).toEqual([]);
  expect(await takeUpCode(code, self("guest"), given(open("guest")))).toMatchObject({ ok: true, inviterName: host.name });
});

test("an inviter that could not write down what it accepted is asked again, and its word is then the same", async () => {
  const { open, code, invites } = await inviting();
  const guest = self("guest");
  const first = await takeUpCode(code, guest, given(open("guest")));
  expect(await takeUpCode(code, guest, given(open("guest again")))).toEqual(first);
  expect(new Invites(dir).get(code.invite)).toEqual(invites.get(code.invite));
});
