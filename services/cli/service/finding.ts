import { type Finding, fine, note, wrong } from "../finding.ts";
import { installedService } from "./find.ts";
import { reportOn } from "./status.ts";

/** What `doctor` says of the service of a folder; nothing where none is installed. */
export async function serviceFindings(dir: string): Promise<Finding[]> {
  const service = installedService(dir);
  if (service === null) return [];
  const { state, unreachable, wrong: faults, notes, otherPid } = await reportOn(dir, service);
  const again = "Install it anew: ropewalk service install";
  const { name } = service.manager;
  const beside =
    otherPid === null
      ? []
      : [note("service", `the environment runs beside it (pid ${otherPid})`, "To have the service instead: ropewalk down")];
  const how =
    state === null
      ? note("service", `${name} is installed, but ${service.manager.kind} cannot be asked: ${unreachable}`, null)
      : state.isRunning
        ? fine("service", `${name}: ${state.detail}, pid ${state.pid ?? "unknown"}`)
        : note(
            "service",
            `${name} does not run: ${state.detail}`,
            "Any command that needs the environment starts it. See: ropewalk service status",
          );
  return [how, ...faults.map((text) => wrong("service", text, again)), ...notes.map((text) => note("service", text, again)), ...beside];
}
