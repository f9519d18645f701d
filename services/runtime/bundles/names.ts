/** Members that hold ids of records; everything else, texts above all, is left as it is. */
const holdsIds = /^(id|[a-z]\w*Ids?|supersedes|supersededBy)$/;

type Json = unknown;

/** A copy of a record in which ids are replaced as `names` says; an id that it does not have stays. */
export function renamed<T>(record: T, names: ReadonlyMap<string, string>): T {
  return rename(record, names, false) as T;
}

function rename(value: Json, names: ReadonlyMap<string, string>, isId: boolean): Json {
  if (typeof value === "string") return isId ? (names.get(value) ?? value) : value;
  if (Array.isArray(value)) return value.map((each) => rename(each, names, isId));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rename(member, names, holdsIds.test(key))]));
}

/** Names that stand in a record where its ids were, e.g. `run/0/3`. */
export function namesIn(record: Json, found: Set<string> = new Set(), isId = false): Set<string> {
  if (typeof record === "string") {
    if (isId && /^[a-z]+\/\d+(\/\d+)?$/.test(record)) found.add(record);
  } else if (Array.isArray(record)) for (const each of record) namesIn(each, found, isId);
  else if (typeof record === "object" && record !== null)
    for (const [key, member] of Object.entries(record)) namesIn(member, found, holdsIds.test(key));
  return found;
}
