import type { ThreadId } from "../../../schemas/ids.ts";
import type { LocalClient } from "../../http/client.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { clean } from "../terminal.ts";
import { Attachment } from "./attachment.ts";
import { onKeys } from "./keys.ts";
import { Screen } from "./screen.ts";
import { RawTerminal } from "./tty.ts";

/** A thread in this terminal, until the person leaves. Whatever happens, the terminal is given back as it was. */
export async function attach(shell: Shell, client: LocalClient, threadId: ThreadId): Promise<ExitCode> {
  const screen = new Screen(process.stdout);
  const terminal = new RawTerminal(process.stdin, process.stdout);
  const attachment = new Attachment(shell, client, threadId, screen);
  const leave = () => attachment.leave();
  const resized = () => attachment.redraw();
  const interrupt = () => attachment.press({ type: "key", name: "ctrl-c" });
  const offKeys = onKeys(process.stdin, (key) => {
    if (key.type === "text" || !["ctrl-z", "ctrl-l"].includes(key.name)) attachment.press(key);
    else if (key.name === "ctrl-l") {
      screen.wipe();
      attachment.redraw();
    } else {
      screen.clear();
      void terminal.suspend().then(resized);
    }
  });
  process.stdout.on("resize", resized);
  // The terminal was closed, or somebody ends us: the thread goes on.
  process.stdin.on("end", leave).on("error", leave);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, leave);
  process.on("SIGINT", interrupt);
  terminal.enter();
  let unsent: string[] = [];
  try {
    await attachment.follow();
  } finally {
    unsent = await attachment.close();
    offKeys();
    process.stdout.off("resize", resized);
    for (const signal of ["SIGTERM", "SIGHUP"] as const) process.off(signal, leave);
    process.off("SIGINT", interrupt);
    terminal.leave();
  }
  for (const text of unsent) shell.print(`not sent: ${clean(text)}`);
  shell.note(`the thread goes on; come back with: ropewalk attach ${attachment.name}`);
  return exitCode.ok;
}
