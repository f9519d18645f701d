/** Runs something that Ctrl-C ends; `interrupted` tells afterwards whether it did. A second Ctrl-C ends the process as usual. */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<{ value: T; interrupted: boolean }> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  process.once("SIGINT", abort);
  try {
    return { value: await work(controller.signal), interrupted: controller.signal.aborted };
  } finally {
    process.off("SIGINT", abort);
  }
}
