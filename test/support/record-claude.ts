import { createClaudeAdapter } from "../../services/providers/claude/adapter.ts";
import { startThrough } from "../../services/providers/claude/agent.ts";
import { loadSdk } from "../../services/providers/claude/sdk.ts";
import { type Line, recorder, writeRecording } from "./claude-recording.ts";
import { onKill, scenarios } from "./claude-scenarios.ts";
import { MessagesEndpoint } from "./messages-endpoint.ts";
import { RealClaude } from "./real-claude.ts";

/** Records every scenario anew from the real program: `npm run record:claude`. */
for (const [name, { rules, play }] of Object.entries(scenarios)) {
  await using endpoint = await MessagesEndpoint.start(...rules);
  using claude = await RealClaude.create(endpoint);
  const lines: Line[] = [];
  const { start, agents } = recorder(startThrough(await loadSdk({ folder: claude.config.sdk })), lines);
  const adapter = createClaudeAdapter({ instance: "claude", config: claude.config, stateDir: claude.stateDir, startAgent: start });
  onKill.current = async () => agents.at(-1)?.kill("SIGKILL");
  await play(adapter, claude.workspace);
  await adapter.close();
  const places = {
    [claude.workspace]: "/workspace",
    [claude.folder]: "/home/agent",
    [claude.folder.replaceAll("/", "-")]: "-home-agent",
    [endpoint.baseUrl.slice("http://".length)]: "127.0.0.1:1",
  };
  writeRecording(name, lines, places);
  console.log(`${name}: ${lines.length} lines`);
}
