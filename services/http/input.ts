import { z } from "zod";
import { type RefusalCode, refusal } from "../../schemas/refusal.ts";
import { HttpRefusal, invalid } from "./statuses.ts";

/** Whole, non-negative number in a query; numbers beyond `max` are taken as `max`. */
export const count = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "expected a whole number")
    .transform((digits) => Math.min(Number(digits), max))
    .meta({ type: "integer", minimum: 0, pattern: undefined });
/** The same from 1 on. */
export const positive = (max: number) =>
  z
    .string()
    .regex(/^0{0,14}[1-9]\d{0,14}$/, "expected a whole number from 1 on")
    .transform((digits) => Math.min(Number(digits), max))
    .meta({ type: "integer", minimum: 1, pattern: undefined });
/** `1` and `true`, `0` and `false`. */
export const flag = z.enum(["0", "1", "true", "false"]).transform((value) => value === "1" || value === "true");

export function parsed<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 20).map((issue) => ({ path: issue.path.map(String).join("."), message: issue.message }));
  const told = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  throw invalid("malformed", `${what}: ${told}`, "Correct the request; nothing was done.", { issues });
}

const notFoundCodes: Record<string, RefusalCode> = { thread: "thread_not_found", run: "run_not_found", task: "task_not_found" };

/** The record, or the refusal of a read of something that is not there. `noun` as a person says it. */
export function found<T>(record: T | null, noun: string, id: string): T {
  if (record !== null) return record;
  const code = notFoundCodes[noun] ?? "invalid_request";
  throw new HttpRefusal(
    refusal(code, "not_found", `there is no ${noun} ${id} here`, `Look for the right id, e.g. with: ropewalk ${listing[noun] ?? "ls"}`),
  );
}

const listing: Record<string, string> = {
  transfer: "transfer list",
  handoff: "transfer show TRANSFER",
  task: "task list",
  link: "link list",
  move: "ls",
  project: "project list",
  run: "run list THREAD",
};
