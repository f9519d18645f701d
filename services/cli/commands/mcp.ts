import { pipeline } from "node:stream/promises";
import { Command, Option } from "commander";
import type { AccessKind } from "../../../schemas/access.ts";
import { defaultModes, InteractionMode, RuntimeMode } from "../../../schemas/modes.ts";
import { upgrade } from "../../http/client/upgrade.ts";
import { accessOption } from "../access-option.ts";
import { exitCode } from "../exit-codes.ts";
import { notReachable } from "../failure.ts";
import { online } from "../session.ts";

type Options = { runtimeMode: RuntimeMode; interactionMode: InteractionMode; access?: AccessKind[]; profile?: "small" | "full" };

/** Carries an agent's own token, for agents that start their tools as programs. */
const tokenVariable = "ROPEWALK_MCP_TOKEN";

export function mcpCommand(): Command {
  return new Command("mcp")
    .description("the tools of this environment over standard input and output (MCP), for an agent to start")
    .addOption(
      new Option("--runtime-mode <mode>", "the broadest that it may use and give")
        .choices(RuntimeMode.options)
        .default(defaultModes.runtimeMode),
    )
    .addOption(new Option("--interaction-mode <mode>", "likewise").choices(InteractionMode.options).default(defaultModes.interactionMode))
    .addOption(accessOption("all"))
    .addOption(new Option("--profile <profile>", "how many tools it is shown").choices(["small", "full"]))
    .addHelpText("after", `\nWith ${tokenVariable} set it speaks for the thread whose agent has that token, within that thread's modes.`)
    .action(
      online<Options>(async (shell, _client, { options }) => {
        const token = process.env[tokenVariable];
        const path = options.profile === undefined ? "/mcp" : `/mcp?profile=${options.profile}`;
        const headers = token === undefined || token === "" ? narrowing(options) : { authorization: `Bearer ${token}` };
        const stream = await upgrade(shell.dir, "ropewalk-mcp", path, headers);
        let isOver = false;
        // Ends when either end does: the agent closes its end to stop us, the environment closes its own when it stops.
        process.stdin.once("end", () => {
          isOver = true;
        });
        const ends = [pipeline(process.stdin, stream, { end: true }), pipeline(stream, process.stdout, { end: false })];
        await Promise.race(ends).catch(() => {});
        if (isOver) await Promise.allSettled(ends);
        process.stdin.destroy();
        if (!isOver)
          throw notReachable(
            shell.dir,
            `the environment on ${shell.dir} has ended the connection: it has stopped, or the token was taken back`,
            "Start the tools again.",
          );
        return exitCode.ok;
      }),
    );
}

function narrowing({ runtimeMode, interactionMode, access }: Options): Record<string, string> {
  return {
    "ropewalk-runtime-mode": runtimeMode,
    "ropewalk-interaction-mode": interactionMode,
    ...(access !== undefined && { "ropewalk-access": access.join(",") }),
  };
}
