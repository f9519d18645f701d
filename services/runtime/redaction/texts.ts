/**
 * What of a record is somebody's words, and what holds the record together. Names, kinds, statuses, ids and digests are the
 * record's own: they stay when words go.
 */
const ownNames: ReadonlySet<string> = new Set([
  ..."type kind status state verdict policy strategy ending code change question by unit delivery mark strength".split(" "),
  ..."id ids ref commit head digest from to instance model incarnation relationshipToParent historyOrigin givenAs".split(" "),
  ..."createdBy spawnedBy runtimeMode interactionMode takenBackFrom keepAs keptAs sourceProvider targetProvider".split(" "),
  ..."workspace continuation access nativeFork secret".split(" "),
]);
const id = /^(env|project|thread|run|attempt|item|checkpoint|transfer|handoff|task|link|pthread|effect|cmd|client|req|inc):[\x21-\x7e]+$/;
const digest = /^[0-9a-f]{40,64}$/;
const slug = /^[a-z][a-z0-9_]{0,60}$/;

/** Whether a string of a record is the record's own. `inRecord`: of actors and projects, whose paths are where they work. */
function isOwn(key: string, text: string, inRecord: boolean): boolean {
  if (ownNames.has(key) || key.endsWith("Id") || key.endsWith("Ids") || key.endsWith("Ref")) return true;
  if (key === "reason") return slug.test(text);
  if (key === "path" && inRecord) return true;
  return id.test(text) || digest.test(text);
}

export type TextMap = {
  /** What stands in the place of words. */
  words(text: string): string;
  /** Told of what is the record's own; a digest or a commit that was replaced may be answered with its successor. */
  own?(text: string): string;
  /** Members of `{blob: {digest, bytes, preview}}`; null: as it is. */
  blob?(digest: string): { digest: string; bytes: number; preview: string } | null;
  inRecord?: boolean;
};

/** A record with its words replaced; the same object where nothing was. */
export function mapTexts(value: unknown, map: TextMap, key = ""): unknown {
  if (typeof value === "string") return isOwn(key, value, map.inRecord ?? false) ? (map.own?.(value) ?? value) : map.words(value);
  if (Array.isArray(value)) {
    const mapped = value.map((element) => mapTexts(element, map, key));
    return mapped.every((element, i) => element === value[i]) ? value : mapped;
  }
  if (typeof value !== "object" || value === null) return value;
  let isSame = true;
  const entries = Object.entries(value).map(([name, member]) => {
    map.own?.(name);
    const mapped = (name === "blob" && blobOf(member, map)) || mapTexts(member, map, name);
    if (mapped !== member) isSame = false;
    return [name, mapped] as const;
  });
  return isSame ? value : Object.fromEntries(entries);
}

function blobOf(member: unknown, map: TextMap): object | null {
  const known = typeof member === "object" && member !== null && "digest" in member ? map.blob?.(String(member.digest)) : null;
  return known == null ? null : { ...(member as object), ...known };
}
