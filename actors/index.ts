/**
 * The behaviour, for use outside: every machine as it is, so that a tool can draw, test or replay it.
 * A list of names, nothing else; nothing inside imports it.
 */
export { linkMachine } from "./link.ts";
export { runMachine } from "./run.ts";
export { taskMachine } from "./task.ts";
export { threadMachine } from "./thread.ts";
export { transferMachine } from "./transfer.ts";
