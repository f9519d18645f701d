/** What scripts go by (decision 22). */
export const exitCode = {
  ok: 0,
  internal: 1,
  badInput: 2,
  refused: 3,
  notReachable: 4,
  waitBound: 5,
  noBroker: 6,
  needsYou: 10,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCode)[keyof typeof exitCode];
