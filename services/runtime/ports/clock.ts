/** Time as the runtime sees it. Order never rests on it; it is what a person is shown and what bounds a wait. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once after `ms`; the returned function takes it back. Timers do not keep the process alive. */
  after(ms: number, callback: () => void): () => void;
}
