import { describe, expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import { lineageRows } from "../../../services/cli/lineage-tree.ts";
import { shortIds } from "../../../services/cli/short-ids.ts";
import { clean, cut, widthOf } from "../../../services/cli/terminal.ts";
import { ago, duration } from "../../../services/cli/time.ts";
import { sizeWords, transferWords } from "../../../services/cli/words.ts";

test("statuses of a transfer are words", () => {
  const retold = { kind: "portable_context", contextHandoffId: "handoff:1" as never } as const;
  const native = { kind: "native_fork", providerThreadRef: { id: "n", strength: "strong" } } as const;
  const error = { code: "invalid_request", reason: "context_too_large", message: "too\nlarge", hint: "" } as const;
  const words = (
    status: Parameters<typeof transferWords>[0]["status"],
    resolution: Parameters<typeof transferWords>[0]["resolution"],
    leftOut = 0,
  ) => transferWords({ status, resolution, error: status === "failed" ? error : null }, leftOut);
  expect(words("pending", null)).toBe("waiting");
  expect(words("resolved_native", native)).toBe("exact (native)");
  expect(words("resolved_portable", retold, 4)).toBe("retold (4 left out)");
  expect(words("consumed", retold, 4)).toBe("delivered, retold (4 left out)");
  expect(words("superseded", retold)).toBe("replaced");
  expect(words("failed", null)).toBe("failed: too large");
});

test("times and sizes are told as people say them", () => {
  const now = 1_800_000_000_000;
  expect([0, -5, 4_999, 59_000, 60_000, 3_600_000, 2 * 86_400_000].map((past) => ago(now - past, now))).toEqual([
    ...["just now", "just now", "just now", "59 seconds ago", "1 minute ago", "1 hour ago", "2 days ago"],
  ]);
  expect(["30", "30s", "500ms", "1.5m", "2h"].map(duration)).toEqual([30_000, 30_000, 500, 90_000, 7_200_000]);
  for (const wrong of ["", "s", "-1s", "1e9", "5 m", "9999d"]) expect(() => duration(wrong)).toThrow(/no length of time/);
  expect([0, 999, 1_000, 12_345, 900_000_000].map(sizeWords)).toEqual(["0 bytes", "999 bytes", "1.0 kB", "12 kB", "900 MB"]);
});

test("short ids are beginnings that only one id has, however alike they begin", () => {
  const ids = [
    "thread:01a22d3f-d218-70a7-b45b-cc99f4287885",
    "thread:01a22d3f-d218-70a8-b45b-cc99f4287885",
    "thread:01b00000-d218-70a8-b45b-cc99f4287885",
    `thread:import:${"ab".repeat(16)}`,
  ];
  const short = shortIds(ids);
  expect([...short.values()].sort()).toEqual(["01a22d3f-d218-70a7", "01a22d3f-d218-70a8", "01b00000", "abababab"].sort());
  expect(short.get(ids[0] as string)).toBe("01a22d3f-d218-70a7");
});

describe("the terminal", () => {
  test("nothing of a text can steer it or turn its direction", () => {
    expect(clean("a\u001b[2Jb\u0007\u009bc\u202ed\te\r\nf")).toBe("a[2Jbcd\te\nf");
  });

  test("widths count what is seen, and a cut never splits a character", () => {
    expect([widthOf("abc"), widthOf("日本"), widthOf("\u001b[31mred\u001b[39m"), widthOf("👩‍👩‍👧"), widthOf("é")]).toEqual([3, 4, 3, 2, 1]);
    expect([cut("abcdef", 4), cut("日本語", 4), cut("ab", 4)]).toEqual(["abc…", "日…", "ab"]);
  });
});

test("the lineage tree puts each thread below its parent, as deep as it goes; one whose parent is not there is a root", () => {
  const thread = (id: string, parent: string | null, createdAt: number) =>
    ({
      id: id as ThreadId,
      createdAt,
      lineage: {
        parentThreadId: parent,
        parentEnvironmentId: null,
        relationshipToParent: parent === null ? null : "fork",
        rootThreadId: id,
      },
    }) as AppThread;
  const rows = lineageRows([
    thread("new", null, 9),
    thread("a", null, 1),
    thread("a2", "a", 3),
    thread("a1", "a", 2),
    thread("a1x", "a1", 4),
    thread("orphan", "gone", 5),
  ]);
  expect(rows.map((row) => row.branch + row.thread.id)).toEqual(["new", "a", "├─ a1", "│  └─ a1x", "└─ a2", "orphan"]);
  const deep = Array.from({ length: 20_000 }, (_, n) => thread(`t${n}`, n === 0 ? null : `t${n - 1}`, n));
  expect(lineageRows(deep)).toHaveLength(20_000);
});
