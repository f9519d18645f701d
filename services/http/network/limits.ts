/** Bounds of the listener on the network. Times are milliseconds, sizes bytes. */
export const networkLimits = {
  /** At this many the one goes that has shown no token for longest. Far below what a process may have open. */
  connections: 1_000,
  /** A request's head comes at once, or from nobody who means it. */
  headersMs: 10_000,
  /** What shows no token is small and answered at once: whoever takes longer to send it, or to read the answer, does not mean it. */
  strangerMs: 10_000,
  /** Requests of one connection that are not answered yet. Clients send the next one after an answer; hundreds at once would be work for all. */
  requestsAhead: 2,
  /** A whole request: the largest import (64 MiB) over a line of 2 Mbit/s. */
  requestMs: 300_000,
  /** Longer than the minute for which proxies keep a connection, so that it is theirs to close. */
  keepAliveMs: 65_000,
  handshakeMs: 10_000,
  /** How often those are looked for whose time is over. */
  checkMs: 2_000,
  headerBytes: 16 * 1024,
  headers: 100,
  /** A peer that has gone without a word is asked for after this long, and given up by the system. */
  probeMs: 30_000,
  /** What one caller has open at once, calls and streams; a hundred agents of one program would share them. */
  requestsPerCaller: 64,
  /** How long an open stream may outlive the month of its token. What is taken back ends at once. */
  recheckMs: 30_000,
  closeGraceMs: 2_000,
} as const;
