import { appendFileSync, chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { launchd } from "../../../../services/cli/service/launchd.ts";
import { ManagerFailure } from "../../../../services/cli/service/service.ts";
import { temporaryFolder } from "../../../support/environments.ts";

/** No launchd here: a program of its name that writes down how it was called, and is loaded or not as `launchctl` would be. */
function recorded() {
  const folder = temporaryFolder();
  const file = join(folder, "launchctl");
  const calls = join(folder, "calls");
  writeFileSync(calls, "");
  writeFileSync(
    file,
    `#!/bin/sh
echo "$@" >> "${calls}"
case "$1 $2" in
  "bootstrap "*) touch "${folder}/loaded" ;;
  "bootout "*) [ -e "${folder}/loaded" ] || { echo "No such process" >&2; exit 3; }; rm "${folder}/loaded" ;;
  "print gui/501") [ -e "${folder}/away" ] && { echo "Could not find domain" >&2; exit 113; } ;;
  "print "*) [ -e "${folder}/loaded" ] || exit 113; printf 'gui/501/ropewalk = {\\n\\tstate = running\\n\\tpid = 4711\\n}\\n' ;;
  "print-disabled "*) echo '"ropewalk" => enabled' ;;
esac
exit 0
`,
  );
  chmodSync(file, 0o755);
  const path = process.env.PATH;
  process.env.PATH = `${folder}:${path}`;
  return {
    manager: launchd("ropewalk", join(folder, "LaunchAgents"), 501),
    folder,
    taken: () => {
      const text = readFileSync(calls, "utf8");
      writeFileSync(calls, "");
      return text.trim().split("\n");
    },
    [Symbol.dispose]: () => {
      process.env.PATH = path;
      rmSync(folder, { recursive: true });
    },
  };
}

test("launchd is asked in the order in which it can answer: loaded anew when the file has changed, ended before it is forgotten", async () => {
  using at = recorded();
  const { manager, taken } = at;
  const target = "gui/501/ropewalk";
  expect(await manager.unreachable()).toBeNull();
  taken();
  await manager.activate(true);
  expect(taken()).toEqual([`enable ${target}`, `print ${target}`, `bootstrap gui/501 ${manager.file}`]);
  await manager.activate(true);
  expect(taken()).toEqual([`enable ${target}`, `print ${target}`, `bootout ${target}`, `bootstrap gui/501 ${manager.file}`]);
  await manager.start();
  expect(taken()).toEqual([`print ${target}`, `kickstart ${target}`]);
  expect(await manager.state()).toMatchObject({ isRunning: true, isEnabled: true, pid: 4711, detail: "running" });
  taken();
  await manager.deactivate();
  expect(taken()).toEqual([`print ${target}`, `bootout ${target}`]);
  await manager.deactivate();
  expect(taken()).toEqual([`print ${target}`]);
  expect(await manager.state()).toMatchObject({ isRunning: false, pid: null, detail: "not loaded" });
});

test("a session without launchd is told as such, and a call that fails is a failure of the manager", async () => {
  using at = recorded();
  appendFileSync(join(at.folder, "away"), "");
  expect(await at.manager.unreachable()).toBe("Could not find domain");
  writeFileSync(join(at.folder, "launchctl"), "#!/bin/sh\necho nothing works >&2; exit 5\n");
  await expect(at.manager.activate(true)).rejects.toThrow(ManagerFailure);
});
