import { z } from "zod";

/** What a service file was made for, kept in its first lines: by it a file is known as ours. */
const ServiceRecord = z.strictObject({ dir: z.string(), node: z.string(), bin: z.string(), version: z.string() });
export type ServiceRecord = z.infer<typeof ServiceRecord>;

const mark = "made by ropewalk service install:";

/** As it stands in a comment, of a unit or of XML. */
export function recordText(record: ServiceRecord): string {
  // Two hyphens would end a comment of XML.
  return `${mark} ${JSON.stringify(record).replaceAll("-", "\\u002d")}`;
}

/** Null: not a file of ours. */
export function readRecord(text: string): ServiceRecord | null {
  const [, json] = new RegExp(`${mark} (\\{[^\\n]*\\})`).exec(text) ?? [];
  try {
    return ServiceRecord.parse(JSON.parse(json ?? ""));
  } catch {
    return null;
  }
}
