import { z } from "zod";

/** A record as a schema of the wire has it: members that have their usual value (the schema's default) are left out. */
export function lean<S extends z.ZodObject>(schema: S): (record: z.output<S>) => z.input<S> {
  const usual = new Map(
    Object.entries(schema.shape).map(([name, field]) => [name, field instanceof z.ZodDefault ? field.def.defaultValue : undefined]),
  );
  return (record) => {
    const left: Record<string, unknown> = {};
    for (const name of usual.keys()) {
      const value = (record as Record<string, unknown>)[name];
      if (!same(value, usual.get(name))) left[name] = value;
    }
    return left as z.input<S>;
  };
}

function same(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return a === b;
  return JSON.stringify(a) === JSON.stringify(b);
}
