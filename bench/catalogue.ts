import type { Bench } from "./figure.ts";

/** Every bench by name. Each is loaded only in the process that runs it. */
export const catalogue: Readonly<Record<string, () => Promise<Bench>>> = {
  "fan-out-200": async () => (await import("./benches/fan-out.ts")).fanOut200,
  "fan-out-1000": async () => (await import("./benches/fan-out.ts")).fanOut1000,
  steps: async () => (await import("./benches/steps.ts")).steps,
};
