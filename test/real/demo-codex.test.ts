import { expect, test } from "vitest";
import { Demo } from "../support/demo.ts";
import { ModelEndpoint, type ModelRule, say } from "../support/model-endpoint.ts";
import { RealCodex } from "../support/real-codex.ts";

/** A model that knows what its conversation holds, and nothing else. */
const remembers: ModelRule = ({ transcript, prompt }) => {
  const find = (pattern: RegExp) => pattern.exec(transcript.join("\n"))?.[0] ?? "I do not know";
  if (prompt.includes("subagent report")) return say(find(/\d+ planks/));
  if (prompt.includes("was found")) return say(find(/heron-[0-9a-f]{4}/));
  if (prompt.includes("call what you find")) return say(`Found: ${/heron-[0-9a-f]{4}/.exec(prompt)?.[0]}`);
  if (prompt.includes("the boat has")) return say("The boat has 42 planks.");
  if (prompt.includes("codeword")) return say(find(/KINGFISHER-[0-9A-F]{4}/));
  return undefined;
};

test("The demo's story holds with real Codex on both machines: forked natively, told what it did not see, and nothing twice", {
  timeout: 300_000,
}, async () => {
  await using endpoint = await ModelEndpoint.start(remembers);
  using codex = await RealCodex.create(endpoint);
  const { bin = "", home = "", env = {} } = codex.config;
  const demo = new Demo(["--provider", "codex", "--json"], {
    bare: true,
    env: { ...env, PATH: "/usr/bin:/bin", CODEX_HOME: home, ROPEWALK_CODEX_BIN: bin },
  });
  const { code } = await demo.ended;
  expect({ code, steps: demo.record.steps.filter((s) => !s.ok).map((s) => [s.id, s.failed]) }).toEqual({ code: 0, steps: [] });
  const answer = (id: string) => demo.step(id).facts.answer;
  const codeword = demo.step("conversation").facts.codeword as string;
  expect([answer("fork_run"), answer("switch"), answer("import")]).toEqual([codeword, codeword, codeword]);
  expect([answer("merged"), answer("go_on")]).toEqual([expect.stringMatching(/^heron-/), expect.stringMatching(/^heron-/)]);
  expect(answer("result")).toBe("42 planks");
  // What the model itself was sent: the spawned task came without a word of its parent's.
  const task = endpoint.requests.find(({ prompt }) => prompt.includes("the boat has"));
  expect(task?.transcript.join("\n")).not.toContain("KINGFISHER");
  expect(demo.leftovers()).toEqual([]);
});
