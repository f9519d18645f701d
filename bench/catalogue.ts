import type { Bench } from "./figure.ts";

/** Every bench by name. Each is loaded only in the process that runs it. */
export const catalogue: Readonly<Record<string, () => Promise<Bench>>> = {
  "fan-out-200": async () => (await import("./benches/fan-out.ts")).fanOut200,
  "fan-out-1000": async () => (await import("./benches/fan-out.ts")).fanOut1000,
  "fan-out-linked": async () => (await import("./benches/fan-out-linked.ts")).fanOutLinked,
  steps: async () => (await import("./benches/steps.ts")).steps,
  link: async () => (await import("./benches/link.ts")).link,
  fork: async () => (await import("./benches/fork.ts")).fork,
  import: async () => (await import("./benches/import.ts")).importing,
  "start-up": async () => (await import("./benches/start-up.ts")).startUp,
  memory: async () => (await import("./benches/memory.ts")).memory,
  idle: async () => (await import("./benches/idle.ts")).idle,
  open: async () => (await import("./benches/open.ts")).open,
  stalls: async () => (await import("./benches/stalls.ts")).stalls,
  wire: async () => (await import("./benches/wire.ts")).wire,
};
