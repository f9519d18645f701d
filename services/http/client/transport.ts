/** One request to an environment. Every call may be made twice: reads change nothing, and a command's id makes a repeat safe. */
export type Call = {
  method: "GET" | "POST";
  /** Below `/v1`. */
  path: string;
  body?: string;
  /** Without an answer for this long the call is given up. Milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
};

/** An answer whose head is there. */
export type Answered = {
  status: number;
  bytes(): Promise<Uint8Array>;
  /** The body as it comes, in whole characters. Ends quietly when the connection breaks. */
  pieces(): AsyncIterable<string>;
  /** What is left is not wanted. */
  drop(): void;
};

/** How a client reaches its environment. Calls throw `EnvironmentUnreachable` when nobody answers. */
export interface Transport {
  /** The folder or the address, as it is told. */
  readonly where: string;
  /** The head of the answer as soon as it is there. `alone`: over a connection of its own, which it keeps. */
  call(what: Call, alone?: boolean): Promise<Answered>;
  close(): void;
}

/** More than any answer has; a larger one is not read. */
export const maxAnswerBytes = 512 * 1024 * 1024;

export function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
