import { expect, test, vi } from "vitest";
import { RunId } from "../../../schemas/ids.ts";
import { systemIdentifiers } from "../../../services/runtime/system-identifiers.ts";

const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("ids are UUIDs of version 7, all different, in the order in which they were made", () => {
  const ids = Array.from({ length: 20_000 }, () => systemIdentifiers.uuid());
  expect(ids.filter((id) => !version7.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
  expect(RunId.safeParse(systemIdentifiers.next("run")).success).toBe(true);
});

test("ids keep their order when the clock is set back", () => {
  const before = systemIdentifiers.uuid();
  vi.spyOn(Date, "now").mockReturnValue(1_000);
  try {
    expect(systemIdentifiers.uuid() > before).toBe(true);
  } finally {
    vi.restoreAllMocks();
  }
});
