import { Command } from "commander";
import { offline } from "../session.ts";

export function serviceCommand(): Command {
  const command = new Command("service").description("the environment as a service of this system, started at every login");
  command
    .command("install")
    .description("have the system start it (systemd on Linux, launchd on macOS); again: with this node, this ropewalk and this PATH")
    .action(offline(async (shell) => (await import("../service/install.ts")).install(shell)));
  command
    .command("status")
    .description("whether it is installed, enabled and running, since when, and where its log is; exit code 4 when it does not run")
    .action(offline(async (shell) => (await import("../service/status.ts")).status(shell)));
  command
    .command("remove")
    .description("stop it and take it away; the environment's folder stays as it is")
    .action(offline(async (shell) => (await import("../service/remove.ts")).remove(shell)));
  return command;
}
