import { readFileSync } from "node:fs";

/** Ids of a Linux system, its own first (`ID`, then `ID_LIKE`); empty elsewhere. */
export function systemIds(osRelease: string = readOsRelease()): string[] {
  const value = (name: string) => new RegExp(`^${name}="?([^"\\n]*)"?$`, "m").exec(osRelease)?.[1] ?? "";
  return `${value("ID")} ${value("ID_LIKE")}`.split(" ").filter((id) => id !== "");
}

function readOsRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return "";
  }
}

const byLinux: Record<string, string> = {
  debian: "sudo apt-get install nats-server",
  ubuntu: "sudo apt-get install nats-server",
  arch: "sudo pacman -S nats-server",
  alpine: "sudo apk add nats-server",
};

/** The one command that puts a nats-server on this system; Go's own where no package is known. */
export function natsServerInstallCommand(platform: string = process.platform, ids: string[] = systemIds()): string {
  if (platform === "darwin") return "brew install nats-server";
  if (platform === "win32") return "choco install nats-server";
  const known = ids.find((id) => id in byLinux);
  return (known && byLinux[known]) || "go install github.com/nats-io/nats-server/v2@latest";
}
