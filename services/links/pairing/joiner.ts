import type { LinkId } from "../../../schemas/ids.ts";
import { PairingAnswer, type PairingCode, pairingVersion } from "../../../schemas/pairing.ts";
import { type Refusal, refusal } from "../../../schemas/refusal.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { LinkTransport } from "../../runtime/ports/link-transport.ts";
import { toInviter, toJoiner } from "./channels.ts";
import type { PairingSelf } from "./inviter.ts";
import { isProof, openPairing, type Parties, provePairing, sealPairing } from "./sealing.ts";

export type Joined = { ok: true; linkId: LinkId; inviterName: string } | { ok: false; refusal: Refusal };

/** How often the hello is said again while nobody answers: the inviter may have been away, or the broker have lost it. */
const againMs = 2_000;

/**
 * Takes up a code: says hello until the inviter has said its word, or `waitMs` are over. Nothing is changed here; the word
 * of an inviter is believed only with the proof of the key that the code named. Safe to do again: the word is the same.
 */
export async function takeUpCode(
  code: PairingCode,
  self: PairingSelf,
  given: { transport: LinkTransport; clock: Clock; waitMs: number },
): Promise<Joined> {
  const { transport, clock, waitMs } = given;
  const { invite, secret } = code;
  const shared = agreed(self, code.publicKey);
  if (shared === null) return { ok: false, refusal: badKey };
  const parties: Parties = {
    invite,
    inviter: { environmentId: code.environmentId, publicKey: code.publicKey },
    joiner: { environmentId: self.environmentId, publicKey: self.keys.publicKey },
  };
  const hello = {
    v: pairingVersion,
    environmentId: self.environmentId,
    name: self.name,
    publicKey: self.keys.publicKey,
    proof: provePairing(shared, secret, "joiner", parties, [self.name]),
  };
  const heard = Promise.withResolvers<Joined>();
  const channel = toJoiner(code, self.environmentId);
  const stop = await transport.consume(channel, async (batch) => {
    for (const sealed of batch) {
      const answer = readAnswer(openPairing(secret, invite, "inviter", sealed));
      if (answer === null) continue;
      const said = answer.ok ? [answer.linkId, answer.name] : [answer.refusal.reason];
      if (!isProof(answer.proof, provePairing(shared, secret, "inviter", parties, said))) continue;
      heard.resolve(answer.ok ? { ok: true, linkId: answer.linkId, inviterName: answer.name } : { ok: false, refusal: answer.refusal });
    }
  });
  let failure: unknown = null;
  const say = () => {
    const sealed = sealPairing(secret, invite, "joiner", JSON.stringify(hello));
    transport.publish(toInviter(code), sealed).then(
      () => {
        failure = null;
      },
      (error: unknown) => {
        failure = error;
      },
    );
  };
  let cancelRepeat = () => {};
  const repeat = () => {
    say();
    cancelRepeat = clock.after(againMs, repeat);
  };
  repeat();
  let answered = true;
  const cancelWait = clock.after(waitMs, () => {
    answered = false;
    heard.resolve({ ok: false, refusal: unanswered(failure) });
  });
  const joined = await heard.promise;
  cancelRepeat();
  cancelWait();
  await stop();
  // Nobody reads it again: a repeat is answered anew, and what is left goes with the invitation.
  if (answered) await transport.forget(channel).catch(() => {});
  return joined;
}

function agreed(self: PairingSelf, publicKey: string) {
  try {
    return self.keys.agree(publicKey);
  } catch {
    return null;
  }
}

function readAnswer(text: string | null): PairingAnswer | null {
  if (text === null) return null;
  try {
    return PairingAnswer.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

const badKey = refusal("invalid_request", "peer_key_unusable", "the key in the code is no key that can be used", "Make a new code.");

function unanswered(failure: unknown): Refusal {
  if (failure !== null)
    return refusal(
      "orchestration_error",
      "broker_unreachable",
      `the NATS server takes nothing: ${failure instanceof Error ? failure.message : String(failure)}`,
      "Look at its address and at the credentials, then join again with the same code.",
    );
  return refusal(
    "orchestration_error",
    "no_answer",
    "the environment that made the code did not answer",
    "Start it there (ropewalk up), then join again with the same code; a code that is long over is not answered.",
  );
}
