import { BundleEnd, BundleHeader, BundleRecord, bundleFormat, bundleVersion, type ThreadBundle } from "../../../schemas/bundle.ts";
import { type Refusal, refusal } from "../../../schemas/refusal.ts";
import { canonicalJson, payloadDigest } from "../digest.ts";

export type ReadBundle = { ok: true; bundle: ThreadBundle } | { ok: false; refusal: Refusal };

/** A bundle with the digests that hold it together. */
export function sealedBundle(header: BundleHeader, records: BundleRecord[]): ThreadBundle {
  const content = payloadDigest(records);
  const end = { records: records.length, content, digest: payloadDigest({ header, records: records.length, content }) };
  return { header, records, end };
}

/** A bundle as text: a line of JSON each, in canonical form, so that every byte is certain. */
export function bundleText({ header, records, end }: ThreadBundle): string {
  return [header, ...records, end].map((line) => `${canonicalJson(line)}\n`).join("");
}

/** Whether this is meant to be a bundle, whatever else is wrong with it. */
export const looksLikeBundle = (text: string): boolean => text.slice(0, 4_000).includes(`"format":"${bundleFormat}"`);

/**
 * Reads what {@link bundleText} wrote. Refused: `not_a_bundle`, `bundle_newer`, `bundle_damaged` (a byte, a line or an order
 * that is another than what was written).
 */
export function readBundle(text: string): ReadBundle {
  const [first = "", ...rest] = text.split("\n");
  const head = asJson(first);
  if (!isObject(head) || head.format !== bundleFormat) return notOne;
  if (typeof head.version === "number" && head.version > bundleVersion) return newer(head.version);
  if (rest.pop() !== "") return damaged("its last line is cut off");
  const header = BundleHeader.safeParse(head);
  if (!header.success) return damaged(`line 1: ${issueOf(header.error)}`);
  const records: BundleRecord[] = [];
  for (const [at, line] of rest.slice(0, -1).entries()) {
    const record = BundleRecord.safeParse(asJson(line));
    if (!record.success) return damaged(`line ${at + 2}: ${issueOf(record.error)}`);
    records.push(record.data);
  }
  const end = BundleEnd.safeParse(asJson(rest.at(-1) ?? ""));
  if (!end.success) return damaged("its last line does not end it");
  const bundle = { header: header.data, records, end: end.data };
  const wrong = whatIsWrongWith(bundle);
  if (wrong !== null) return damaged(wrong);
  return bundleText(bundle) === text ? { ok: true, bundle } : damaged("it is written otherwise than ropewalk writes it");
}

/** Why a bundle's digests do not hold; null when they do. */
export function whatIsWrongWith({ header, records, end }: ThreadBundle): string | null {
  if (end.records !== records.length) return `it has ${records.length} records, ${end.records} were written`;
  if (payloadDigest(records) !== end.content) return "its content is not what was written";
  const digest = payloadDigest({ header, records: records.length, content: end.content });
  return digest === end.digest ? null : "its first line is not what was written";
}

export const damagedBundle = (why: string): Refusal =>
  refusal(
    "invalid_request",
    "bundle_damaged",
    `the bundle is damaged: ${why}`,
    "Export it again where it comes from; nothing was written.",
  );

const damaged = (why: string): ReadBundle => ({ ok: false, refusal: damagedBundle(why) });
const notOne: ReadBundle = {
  ok: false,
  refusal: refusal("invalid_request", "not_a_bundle", "this is no bundle of a thread", "Name a file that ropewalk export has written."),
};
const newer = (version: number): ReadBundle => ({
  ok: false,
  refusal: refusal(
    "invalid_request",
    "bundle_newer",
    `the bundle has version ${version}, this ropewalk reads up to ${bundleVersion}`,
    "Import it with the ropewalk that wrote it, or a newer one: npm i -g ropewalk@latest",
  ),
});

function asJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const issueOf = (error: { issues: { path: PropertyKey[]; message: string }[] }): string => {
  const issue = error.issues[0];
  return `${issue?.path.map(String).join(".") || "it"}: ${issue?.message ?? "malformed"}`;
};
