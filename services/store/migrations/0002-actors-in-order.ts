/** The newest threads are found without sorting all of them. */
export const actorsInOrder = {
  version: 2,
  sql: "create index actors_in_order on actors (kind, ordinal)",
} as const;
