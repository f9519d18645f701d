/** A guarantee taken out of the sources, and the tests that notice. */
export type Mutation = {
  /** What is taken out. */
  takenOut: string;
  file: string;
  /** Must stand in the file exactly once. */
  find: string;
  replace: string;
  /** Each of these must pass as the sources are, and fail with the mutation. `title` is the whole of a test's own title. */
  noticedBy: { file: string; title: string }[];
};
