import { hash } from "node:crypto";
import { PairingCode, pairingVersion } from "../../../schemas/pairing.ts";
import { type Refusal, refusal } from "../../../schemas/refusal.ts";

/** `rw1.<base64url of a JSON array>.<six digits that show a slip>`; the digit after `rw` is the version. */
const head = `rw${pairingVersion}`;

export type ReadCode = { ok: true; code: PairingCode } | { ok: false; refusal: Refusal };

export function writeCode({ invite, environmentId, publicKey, secret, broker }: PairingCode): string {
  const held = [uuidOf(invite), uuidOf(environmentId), publicKey, secret];
  const place = broker === null ? [] : broker.credentials === null ? [broker.url] : [broker.url, broker.credentials];
  const payload = Buffer.from(JSON.stringify([...held, ...place])).toString("base64url");
  return `${head}.${payload}.${check(payload)}`;
}

/** A code as a person pasted it; spaces and line ends that a terminal put in are passed over. */
export function readCode(typed: string): ReadCode {
  const [version = "", payload = "", sum = "", ...more] = typed.replace(/\s/g, "").split(".");
  if (!/^rw\d+$/.test(version)) return refused("not_a_code", "this is no code of ropewalk link invite", again);
  if (version !== head)
    return refused("wrong_version", `the code is of pairing version ${version.slice(2)}, this is version ${pairingVersion}`, update);
  if (more.length > 0 || sum !== check(payload)) return refused("code_damaged", "a part of the code is missing or changed", again);
  try {
    const [invite, environment, publicKey, secret, url, credentials = null] = JSON.parse(Buffer.from(payload, "base64url").toString());
    const code = PairingCode.parse({
      invite: `invite:${invite}`,
      environmentId: `env:${environment}`,
      publicKey,
      secret,
      broker: url === undefined ? null : { url, credentials },
    });
    return { ok: true, code };
  } catch {
    // What a parser says would quote the secret.
    return refused("not_a_code", "the code does not hold what a code holds", again);
  }
}

const again = "Copy all of it again, from rw1 to its end.";
const update = "Update the older of the two environments, then make a new code.";
const uuidOf = (id: string) => id.slice(id.indexOf(":") + 1);
const check = (payload: string) => hash("sha256", `${head}.${payload}`, "base64url").slice(0, 6);
const refused = (reason: string, message: string, hint: string): ReadCode => ({
  ok: false,
  refusal: refusal("invalid_request", reason, message, hint),
});
