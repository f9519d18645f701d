/** What the listener says about a request, as it came in. */
type DoorBindings = {
  /** Scheme, host and port by which this environment was called; the host is one of those that are its own. */
  origin: string;
  /** Who is counted for a guess: the address at the other end. */
  address: string;
};
export type DoorEnv = { Bindings: DoorBindings };
