import { packageVersion } from "../../runtime/version.ts";
import { logFile, ropewalkBin } from "../background.ts";
import { exitCode } from "../exit-codes.ts";
import { badInput, CliFailure } from "../failure.ts";
import { serviceOf } from "./find.ts";
import { realOf } from "./name.ts";
import type { Program, ServiceManager } from "./service.ts";
import { hasControl, serviceEnv } from "./service-env.ts";

/** What the service of a folder runs when it is installed now, by this node and this ropewalk. Throws for a path that no unit can hold. */
export function programFor(dir: string): Program & { leftOut: string[] } {
  const record = { dir: realOf(dir), node: process.execPath, bin: ropewalkBin(), version: packageVersion() };
  for (const path of [record.dir, record.node, record.bin])
    if (hasControl(path))
      throw badInput("service_path", `${JSON.stringify(path)} holds a control character, which no service file can`, "Use another folder.");
  const { env, leftOut } = serviceEnv(process.env);
  const args = [record.node, record.bin, "--dir", record.dir, "up", "--as-background"];
  return { record, arguments: args, env, log: logFile(record.dir), leftOut };
}

/** The manager of services of this system. Throws where there is none that is known. */
export function managerOr(dir: string): ServiceManager {
  const manager = serviceOf(dir);
  if (manager !== null) return manager;
  const message = `services are made for systemd (Linux) and launchd (macOS), not for ${process.platform}`;
  const hint = `Have this system start, with your rights: ${process.execPath} ${ropewalkBin()} --dir ${dir} up`;
  throw new CliFailure({ code: "orchestration_error", reason: "service_unsupported", message, hint }, exitCode.refused);
}
