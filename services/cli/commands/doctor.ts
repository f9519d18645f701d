import { Command } from "commander";
import { exitCode } from "../exit-codes.ts";
import type { Finding } from "../finding.ts";
import { offline } from "../session.ts";
import { table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";

const marks: Record<Finding["state"], () => string> = {
  fine: () => style("green", "fine"),
  note: () => style("yellow", "note"),
  wrong: () => style("red", "wrong"),
};

export function doctorCommand(): Command {
  return new Command("doctor").description("look for what keeps this environment from working; starts and changes nothing").action(
    offline(async (shell) => {
      const { examine } = await import("../examination.ts");
      const findings = await examine(shell.dir);
      const isWrong = findings.some((f) => f.state === "wrong");
      if (shell.json) process.stdout.write(`${JSON.stringify({ ok: !isWrong, findings })}\n`);
      else {
        shell.print(
          table(
            findings.map((f) => [marks[f.state](), f.about, oneLine(f.text)]),
            2,
          ),
        );
        for (const { hint } of findings.filter((f) => f.hint !== null)) shell.print(`${style("dim", "hint:")} ${hint}`);
      }
      return isWrong ? exitCode.refused : exitCode.ok;
    }),
  );
}
