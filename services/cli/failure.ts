import { CommanderError } from "commander";
import type { Refusal, RefusalCode } from "../../schemas/refusal.ts";
import { EnvironmentRefused, EnvironmentUnreachable } from "../http/client/failures.ts";
import { CommandRefused } from "../runtime/environment-api.ts";
import { type ExitCode, exitCode } from "./exit-codes.ts";
import { ManagerFailure } from "./service/service.ts";

/** Ends a command: what went wrong, what to do, and the exit code that says which kind it is. */
export class CliFailure extends Error {
  override readonly name = "CliFailure";
  readonly refusal: Refusal;
  readonly exit: ExitCode;
  constructor(what: Refusal, exit: ExitCode) {
    super(what.message);
    this.refusal = what;
    this.exit = exit;
  }
}

/** What was typed, or read from a file, cannot be used. */
export function badInput(reason: string, message: string, hint: string, details?: Record<string, unknown>): CliFailure {
  return new CliFailure({ code: "invalid_request", reason, message, hint, ...(details !== undefined && { details }) }, exitCode.badInput);
}

export function notReachable(dir: string, message: string, hint: string): CliFailure {
  return new CliFailure({ code: "orchestration_error", reason: "not_reachable", message, hint, details: { dir } }, exitCode.notReachable);
}

const badInputCodes: readonly RefusalCode[] = ["invalid_request", "thread_not_found", "run_not_found", "task_not_found"];

/** A refusal's exit code: 2 where something else has to be typed, 3 where the environment will not do it. */
export const exitOf = (what: Refusal): ExitCode => (badInputCodes.includes(what.code) ? exitCode.badInput : exitCode.refused);

/** Any error as a failure of the command. */
export function failureOf(error: unknown): CliFailure {
  if (error instanceof CliFailure) return error;
  if (error instanceof EnvironmentRefused || error instanceof CommandRefused) return new CliFailure(error.refusal, exitOf(error.refusal));
  if (error instanceof EnvironmentUnreachable) {
    return notReachable(error.where, error.message, "Start it with: ropewalk up --detach (and look into ropewalk.log in its folder).");
  }
  if (error instanceof CommanderError) {
    return badInput("usage", error.message.replace(/^error: /, ""), "See: ropewalk --help, or ropewalk COMMAND --help.");
  }
  if (error instanceof ManagerFailure) {
    const hint = "See: ropewalk service status, and what the system's own service manager says.";
    return new CliFailure({ code: "orchestration_error", reason: "service_manager", message: error.message, hint }, exitCode.refused);
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: null };
  const hint = "This is a fault of ropewalk; report it with the output of ropewalk doctor.";
  return new CliFailure(
    { code: "orchestration_error", reason: "internal", message, hint, details: { stack: stack ?? null } },
    exitCode.internal,
  );
}
