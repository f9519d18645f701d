import { recordText } from "./record.ts";
import type { Program } from "./service.ts";

type Value = string | number | boolean | readonly string[] | { readonly [name: string]: Value };

/** A launchd agent's property list. */
export function launchAgent(label: string, { record, arguments: args, env, log }: Program): string {
  const settings: Value = {
    Label: label,
    ProgramArguments: args,
    EnvironmentVariables: env,
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 30,
    ExitTimeOut: 60,
    Umask: 0o077,
    StandardOutPath: log,
    StandardErrorPath: log,
  };
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${recordText(record)} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
${xml(settings, "")}
</plist>
`;
}

function xml(value: Value, indent: string): string {
  if (typeof value === "string") return `${indent}<string>${escaped(value)}</string>`;
  if (typeof value === "number") return `${indent}<integer>${value}</integer>`;
  if (typeof value === "boolean") return `${indent}<${value}/>`;
  const deeper = `${indent}  `;
  if (isList(value)) return [`${indent}<array>`, ...value.map((item) => xml(item, deeper)), `${indent}</array>`].join("\n");
  const entries = Object.entries(value).flatMap(([name, item]) => [`${deeper}<key>${escaped(name)}</key>`, xml(item, deeper)]);
  return [`${indent}<dict>`, ...entries, `${indent}</dict>`].join("\n");
}

const isList = (value: object): value is readonly string[] => Array.isArray(value);

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
