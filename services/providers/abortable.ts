import type { ProviderFailure } from "./contract.ts";

/**
 * Waits for `work` until `signal` aborts. A request cannot be taken back, so work that is given up goes on: `clean` gets
 * its late result, and what it does about it is nobody's concern any more.
 */
export async function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
  failure: () => ProviderFailure,
  clean: (late: T) => unknown = () => undefined,
): Promise<T> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<"aborted">((resolve) => {
    stop = () => resolve("aborted");
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    const first = await Promise.race([work.then((value) => ({ value })), aborted]);
    if (first !== "aborted") return first.value;
    work.then(clean).catch(() => undefined);
    throw failure();
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Waits for `work`, at most `ms`; tells whether it came in time. */
export async function within(
  after: (ms: number, callback: () => void) => () => void,
  ms: number,
  work: Promise<unknown>,
): Promise<boolean> {
  let cancel: () => void = () => undefined;
  const late = new Promise<false>((resolve) => {
    cancel = after(ms, () => resolve(false));
  });
  try {
    return await Promise.race([
      work.then(
        () => true as const,
        () => true as const,
      ),
      late,
    ]);
  } finally {
    cancel();
  }
}
