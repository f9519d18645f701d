import type { LinkChannel } from "../../runtime/ports/link-transport.ts";

/** An id as one token of a subject or a stream's name: `link:0190…` becomes `link-0190…`. */
function token(id: string): string {
  const safe = id.replace(":", "-");
  if (!/^[A-Za-z0-9_-]{1,80}$/.test(safe)) throw new Error(`${JSON.stringify(id)} cannot be part of a NATS subject`);
  return safe;
}

export function subjectOf(channel: LinkChannel): string {
  return `ropewalk.v1.link.${token(channel.linkId)}.${token(channel.to)}.${token(channel.from)}`;
}

/** One stream per direction; the recipient tells the two of a link apart. */
export function streamOf(channel: LinkChannel): string {
  return `ropewalk_v1_${token(channel.linkId)}_${token(channel.to)}`;
}

/** The recipient's durable consumer of its stream. */
export const durableName = "inbox";

export function bucketOf(linkId: string): string {
  return `ropewalk_v1_${token(linkId)}`;
}
