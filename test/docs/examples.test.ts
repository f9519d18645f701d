import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { main as embed } from "../../docs/examples/embed.ts";
import { main as serve } from "../../docs/examples/serve.ts";

test("the embedding example of the guide runs as it stands and shows a fork's history reach the next provider", async () => {
  const lines: string[] = [];
  await embed((line) => lines.push(line));
  expect(lines[0]).toBe('after forking: {"pending":"unclaimed"}');
  expect(lines).toContain('the transfer is now: "consumed"');
  expect(lines.at(-1)).toContain("The password is marline.");
});

test("the API inside another application is driven by the typed client, which is told an answer and a refusal", async () => {
  const lines: string[] = [];
  await serve((line) => lines.push(line));
  expect(lines).toContain("the run is completed");
  expect(lines).toContain("an answer came in");
  expect(lines.at(-2)).toBe("I was told:\nHello from afar");
  expect(lines.at(-1)).toBe("refused: runtime_mode_escalation_denied");
});

test("every piece of code in the embedding guide stands so in an example", () => {
  const examples = new URL("../../docs/examples/", import.meta.url);
  const bare = (code: string) => code.replaceAll(/^\s+/gm, "").trim();
  const all = readdirSync(examples).map((name) => bare(readFileSync(new URL(name, examples), "utf8")));
  const guide = readFileSync(new URL("../../docs/guide/embedding.md", import.meta.url), "utf8");
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => bare(code));
  expect(pieces.length).toBeGreaterThan(4);
  expect(pieces.filter((piece) => !all.some((example) => example.includes(piece)))).toEqual([]);
});
