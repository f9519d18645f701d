import { hash } from "node:crypto";

/** Crockford's digits: none that a reader takes for another. */
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const groups = 5;
const groupDigits = 4;

type Side = { environmentId: string; publicKey: string };

/**
 * What two people compare to know that no third key is between them: the first 100 bits of SHA-256 over both environments
 * and both keys, as five groups of four digits. The same on both sides, and the same for every link of this pair.
 */
export function linkFingerprint(one: Side, other: Side): string {
  const sides = [one, other].map(({ environmentId, publicKey }) => [environmentId, publicKey]);
  sides.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  const bytes = hash("sha256", JSON.stringify(["ropewalk link fingerprint 1", ...sides]), "buffer");
  let bits = BigInt(`0x${bytes.subarray(0, 13).toString("hex")}`) >> 4n;
  let text = "";
  for (let i = 0; i < groups * groupDigits; i += 1) {
    text = digits[Number(bits & 31n)] + text;
    bits >>= 5n;
  }
  return text.match(/.{4}/g)?.join("-") ?? text;
}
