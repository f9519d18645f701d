/** Limits of the contract (§6) and of decisions 33 and 17. Each can only be changed where a configuration names it. */
export const limits = {
  importMessages: 2_000,
  importMessageChars: 200_000,
  importPromptChars: 120_000,
  titleChars: 512,
  handoffIdChars: 128,
  messageChars: 200_000,
  importRequestBytes: 64 * 1024 * 1024,
  /** Commits that a move asks about, and bytes of code that it takes along. */
  moveCommits: 1_000,
  moveCodeBytes: 256 * 1024 * 1024,
  taskDepth: 3,
  taskOpenChildren: 1_000,
  /** Bodies above this are hashed and parsed off the main thread. */
  workerBodyBytes: 8 * 1024 * 1024,
  /** Item text above this is kept apart and read on demand. */
  inlineItemChars: 16 * 1024,
  /** Link bodies above this travel as a blob (links.md). */
  linkInlineBytes: 256 * 1024,
} as const;
