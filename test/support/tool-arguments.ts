import fc from "fast-check";
import type { z } from "zod";
import { arbitraryOf } from "./arbitrary.ts";
import { type IdPool, type Json, nonsense } from "./fuzzed.ts";

/**
 * Arguments for a tool: as its schema wants them and mostly about things that are there, then wrong in up to three places.
 * Request ids come from a small set, so that the same one meets other arguments.
 */
export function toolArguments(input: z.ZodObject, pool: IdPool): fc.Arbitrary<unknown> {
  const given = arbitraryOf(input).chain((args) => named(args as Record<string, Json>, pool));
  const wronged = fc.tuple(given, fc.array(wrong(Object.keys(input.shape), pool), { minLength: 1, maxLength: 3 }));
  return fc.oneof(
    { weight: 5, arbitrary: given },
    { weight: 5, arbitrary: wronged.map(([args, wrongs]) => wrongs.reduce<Json>((made, one) => one(made), args)) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }).map((value) => value as Json) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** The same arguments with ids of the pool, some optional members left out, and few different request ids. */
function named(args: Record<string, Json>, pool: IdPool): fc.Arbitrary<{ [name: string]: Json }> {
  const members = Object.entries(args).map(([name, value]): [string, fc.Arbitrary<Json | undefined>] => {
    if (name === "clientRequestId") return [name, fc.integer({ min: 0, max: 40 }).map((n) => `r${n}`)];
    if (name === "waitSeconds") return [name, fc.constantFrom(0, 0.01)];
    const ids = typeof value === "string" ? pool[value.split(":")[0] ?? ""] : undefined;
    if (ids === undefined || ids.length === 0) return [name, fc.option(fc.constant(value), { nil: undefined, freq: 3 })];
    const needed = name === "threadId" || name === "taskId";
    const real = fc.constantFrom(...ids, value);
    return [name, needed ? real : fc.option(real, { nil: undefined, freq: 1 })];
  });
  return fc.record(Object.fromEntries(members)).map((made) => JSON.parse(JSON.stringify(made)));
}

type Wrong = (args: Json) => Json;

/** One thing that is not as the schema wants it. */
function wrong(names: string[], pool: IdPool): fc.Arbitrary<Wrong> {
  const name = fc.constantFrom(...names, "constructor", "toString", "length");
  const set = (value: fc.Arbitrary<Json>) =>
    fc.tuple(name, value).map(
      ([key, put]): Wrong =>
        (args) =>
          withMember(args, key, put),
    );
  const ids = Object.values(pool).flat();
  return fc.oneof(
    set(fc.constantFrom(...nonsense)),
    set(fc.constantFrom(...ids)),
    set(fc.integer({ min: 1, max: 3 }).map((size) => "x".repeat(10 ** size * 300))),
    set(fc.integer({ min: 50, max: 3_000 }).map(deep)),
    set(cursors),
    set(fc.string({ unit: "binary", maxLength: 20 })),
    fc.tuple(name).map(
      ([key]): Wrong =>
        (args) =>
          without(args, key),
    ),
    fc.constantFrom<Wrong>(
      (args) => withMember(args, "__proto__", { admin: true }),
      (args) => withMember(args, "unknown member", 1),
      (args) => [args],
    ),
  );
}

const cursors = fc
  .oneof(
    fc.string({ maxLength: 30 }),
    fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
    fc.constantFrom(
      '{"after":"thread:0197f000-0000-7000-8000-000000000001"}',
      '{"oldestFirst":true,"threadId":"thread:0197f000-0000-7000-8000-000000000001","runOrdinal":-1e300,"position":1e300}',
      '{"target":"transfer:0197f000-0000-7000-8000-000000000001","source":7}',
      "{}",
    ),
  )
  .map((text) => Buffer.from(text).toString("base64url"));

function deep(levels: number): Json {
  let value: Json = "bottom";
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { value };
  return value;
}

function withMember(args: Json, name: string, value: Json): Json {
  if (args === null || typeof args !== "object" || Array.isArray(args)) return args;
  // Defined and not assigned, so that `__proto__` becomes a member.
  return Object.defineProperty({ ...args }, name, { value, enumerable: true, configurable: true, writable: true });
}

function without(args: Json, name: string): Json {
  if (args === null || typeof args !== "object" || Array.isArray(args)) return args;
  return Object.fromEntries(Object.entries(args).filter(([key]) => key !== name));
}
