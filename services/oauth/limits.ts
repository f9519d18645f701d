const minute = 60_000;

/** Bounds of letting programs in. Times are milliseconds. */
export const oauthLimits = {
  /** Long enough to walk to the other machine, too short to be left lying around. */
  pairingCodeMs: 10 * minute,
  /** More than a person has in hand at once; the oldest goes. */
  pairingCodes: 20,
  /** A program fetches its token as soon as it is sent back to. */
  authorizationCodeMs: minute,
  /** Each stands for a code that a person typed within the last minute. */
  authorizationCodes: 100,
  /** Contract: after a month a person decides again. */
  tokenMs: 30 * 24 * 60 * minute,
  /** One for each resource and machine that shares a registration; the oldest goes. */
  tokensPerClient: 8,
  /** Programs that have registered and that nobody let in; the oldest goes. Those that were let in are not counted. */
  strangers: 100,
  /** Programs that are let in; more than a person keeps an eye on. */
  clients: 500,
  redirectUris: 10,
  redirectUriChars: 2_000,
  programNameChars: 100,
  /** `state` is the program's own, and travels in an address. */
  stateChars: 2_000,
  /** A registration's document, a form, or a page's own address. */
  bodyBytes: 64 * 1024,
  /** How far a token's last use may be behind in the file; in memory it is exact. */
  usedWriteMs: 60 * minute,
} as const;

/** How often something may happen within a time, from one address and from all together. */
export type Rate = { perAddress: number; inAll: number; windowMs: number };

/**
 * Guesses: 300 in ten minutes among 20 open codes of 50 bits find one with a chance of less than one in 10^11. The person
 * who mistypes has ten tries from their own address.
 */
export const guessRate: Rate = { perAddress: 10, inAll: 300, windowMs: 10 * minute };
/** A program registers once. Slow enough that a flood does not push out a program that somebody is about to let in. */
export const registrationRate: Rate = { perAddress: 20, inAll: 60, windowMs: 10 * minute };
/** Tokens are fetched once an approval, and by nobody in numbers. */
export const tokenRate: Rate = { perAddress: 60, inAll: 600, windowMs: minute };
