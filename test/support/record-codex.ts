import { createCodexAdapter } from "../../services/providers/codex/adapter.ts";
import { type Line, recorder, writeRecording } from "./codex-recording.ts";
import { onKill, scenarios } from "./codex-scenarios.ts";
import { ModelEndpoint } from "./model-endpoint.ts";
import { RealCodex } from "./real-codex.ts";

/** Records scenarios anew from the real binary, all of them or those that are named: `npm run record:codex [-- NAME…]`. */
const named = process.argv.slice(2);
for (const [name, { rules, play }] of Object.entries(scenarios)) {
  if (named.length > 0 && !named.includes(name)) continue;
  await using endpoint = await ModelEndpoint.start(...rules);
  using codex = await RealCodex.create(endpoint);
  const lines: Line[] = [];
  const { start, children } = recorder(lines);
  const adapter = createCodexAdapter({ instance: "codex", config: codex.config, stateDir: codex.stateDir, startChild: start });
  onKill.current = async () => children.at(-1)?.kill("SIGKILL");
  await play(adapter, codex.workspace);
  await adapter.close();
  const places = { [codex.workspace]: "/workspace", [codex.folder]: "/home/agent", [endpoint.baseUrl]: "http://127.0.0.1:1/v1" };
  writeRecording(name, lines, places);
  console.log(`${name}: ${lines.length} frames`);
}
