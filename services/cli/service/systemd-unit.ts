import { recordText } from "./record.ts";
import type { Program } from "./service.ts";

/** A systemd user unit. Paths and values may hold anything but control characters. */
export function systemdUnit({ record, arguments: args, env, log }: Program): string {
  const environment = Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`);
  return `# ${recordText(record)}
# Changed by ropewalk service install, removed by ropewalk service remove.
[Unit]
Description=ropewalk, conversations with coding agents (${described(record.dir)})
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
ExecStart=:${command(args)}
${environment.join("\n")}
StandardOutput=append:${unquoted(log)}
StandardError=append:${unquoted(log)}
UMask=0077
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 3
KillMode=mixed
TimeoutStopSec=60
OOMPolicy=continue

[Install]
WantedBy=default.target
`;
}

/** A word of a command line or of an assignment. The colon before the command keeps `$` as it is. */
const quoted = (text: string) => `"${text.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;

/** systemd runs no program whose own path holds a quote or a backslash; a shell does, and gives its place to it. */
function command(args: readonly string[]): string {
  const words = args.map(quoted).join(" ");
  return /["'\\]/.test(args[0] ?? "") ? `/bin/sh -c ${quoted('exec "$0" "$@"')} ${words}` : words;
}

/** Where the rest of the line is one path. */
const unquoted = (path: string) => path.replaceAll("%", "%%");

/** A line that ends with a backslash goes on in the next one. */
const described = (text: string) => text.replaceAll("%", "%%").replaceAll("\\", "/");
