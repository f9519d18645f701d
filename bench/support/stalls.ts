import { monitorEventLoopDelay } from "node:perf_hooks";

/**
 * The longest stall of the event loop: by the library's own histogram, and by a timer that should call every millisecond.
 * `cpuMs` is the processor time that this thread spent in the longest gap: on a busy machine the rest of it was waiting.
 */
export function watchStalls(): { stop(): { histogramMs: number; gapMs: number; cpuMs: number } } {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  let [last, lastCpu] = [performance.now(), cpuNow()];
  let [gapMs, cpuMs] = [0, 0];
  const timer = setInterval(() => {
    const [now, cpu] = [performance.now(), cpuNow()];
    gapMs = Math.max(gapMs, now - last - 1);
    cpuMs = Math.max(cpuMs, cpu - lastCpu);
    [last, lastCpu] = [now, cpu];
  }, 1);
  return {
    stop() {
      clearInterval(timer);
      histogram.disable();
      return { histogramMs: histogram.max / 1e6, gapMs, cpuMs };
    },
  };
}

function cpuNow(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
