import { lintMachine } from "../../actors/lint.ts";
import { eventTypes, machines } from "../../actors/machines.ts";
import { ActorKind } from "../../schemas/ids.ts";
import { Kernel } from "./kernel.ts";

function kernelOf(kind: ActorKind): Kernel {
  const wrong = lintMachine(machines[kind], eventTypes[kind]);
  if (wrong.length > 0) throw new Error(`the ${kind} machine is not sound:\n  ${wrong.join("\n  ")}`);
  return new Kernel(machines[kind]);
}

/** One kernel per kind of actor. Each machine is linted once, when the program starts. */
export const kernels = Object.fromEntries(ActorKind.options.map((kind) => [kind, kernelOf(kind)])) as Record<ActorKind, Kernel>;
