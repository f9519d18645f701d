import { expect, test } from "vitest";
import { main } from "../../docs/examples/embed.ts";

test("the embedding example of the guide runs as it stands and shows a fork's history reach the next provider", async () => {
  const lines: string[] = [];
  await main((line) => lines.push(line));
  expect(lines[0]).toBe('after forking: {"pending":"unclaimed"}');
  expect(lines).toContain('the transfer is now: "consumed"');
  expect(lines.at(-1)).toContain("The password is marline.");
});
