import type { Context } from "hono";
import { z } from "zod";
import { type RefusalCode, refusal } from "../../schemas/refusal.ts";
import { HttpRefusal, invalid } from "./statuses.ts";

/** Whole, non-negative number in a query; numbers beyond `max` are taken as `max`. */
export const count = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "expected a whole number")
    .transform((digits) => Math.min(Number(digits), max));
/** `1` and `true`, `0` and `false`. */
export const flag = z.enum(["0", "1", "true", "false"]).transform((value) => value === "1" || value === "true");

/** The query of a request by its schema; an unknown parameter is an error, since a misspelled filter would filter nothing. */
export function query<T extends z.ZodRawShape>(c: Context, shape: T): z.output<z.ZodObject<T, z.core.$strict>> {
  return parsed(z.strictObject(shape), c.req.query(), "query");
}

/** An id from the path. */
export function pathId<S extends z.ZodType>(c: Context, name: string, schema: S): z.output<S> {
  return parsed(schema, c.req.param(name), name);
}

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
  project: "project list",
  run: "run list THREAD",
};
