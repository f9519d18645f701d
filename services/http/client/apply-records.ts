/** Records by id, which is the order in which they were made; a changed one takes the place of the one that was there. */
export function withRecords<N extends string, T extends { id: string }>(name: N, known: readonly T[] = [], changed: readonly T[] = []) {
  if (changed.length === 0) return {};
  const byId = new Map([...known, ...changed].map((record) => [record.id, record]));
  return { [name]: [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)) } as Record<N, T[]>;
}
