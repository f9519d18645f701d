import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import type { DemoRecord } from "../demo/record.ts";
import { runDemo } from "../demo/run.ts";
import { missingWords, recordWords, stepWords } from "../demo/show.ts";
import type { StepTold } from "../demo/story/story.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import { badInput } from "../failure.ts";
import { Progress } from "../progress.ts";
import { offline } from "../session.ts";
import type { Shell } from "../shell.ts";
import { style } from "../terminal.ts";
import { took } from "../time.ts";

type Options = { provider: "scripted" | "codex"; keep?: boolean; script?: string };

export function demoCommand(): Command {
  return new Command("demo")
    .description("two environments and a broker in a temporary folder, and a conversation that goes through all of it")
    .addOption(
      new Option("--provider <kind>", "who answers: a script, or Codex with your own configuration (this uses your account)")
        .choices(["scripted", "codex"])
        .default("scripted"),
    )
    .option("--keep", "leave the temporary folder as it is at the end")
    .addOption(new Option("--script <file>", "another script for the scripted providers").hideHelp())
    .action(offline<Options>(async (shell, { options }) => demo(shell, options)));
}

async function demo(shell: Shell, options: Options): Promise<ExitCode> {
  const script = options.script === undefined ? null : readScript(options.script);
  const stop = new AbortController();
  const stopListening = abortOnSignals(stop);
  const show = new Show(shell);
  try {
    const record = await runDemo({
      provider: options.provider,
      keep: options.keep === true,
      script,
      signal: stop.signal,
      started: (about) => show.started(about, options.keep === true),
      starting: (step) => show.starting(step.title),
      told: (step) => show.told(step),
    });
    if (shell.json) process.stdout.write(`${JSON.stringify(record)}\n`);
    show.ended(record);
    if (record.steps.some((step) => !step.ok)) return exitCode.internal;
    return record.missing === undefined ? exitCode.ok : exitCode.noBroker;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    shell.note("the demo was stopped; what it had started is gone");
    return exitCode.interrupted;
  } finally {
    show.done();
    stopListening();
  }
}

/** The story as it happens: on standard output, or beside the JSON document on standard error. */
class Show {
  readonly #shell: Shell;
  #progress = new Progress("starting the environments");
  #number = 0;
  #since = performance.now();

  constructor(shell: Shell) {
    this.#shell = shell;
  }

  started({ root, broker, environments }: Parameters<Parameters<typeof runDemo>[0]["started"]>[0], keeps: boolean): void {
    this.#say(environments.map(({ name, pid }) => `${name} (pid ${pid})`).join(" and "));
    this.#say(broker === null ? "no broker" : `nats-server ${broker.version} on ${broker.server.url}`);
    this.#say(style("dim", `in ${root}${keeps ? ", which stays" : ", gone at the end"}`));
    this.#say("");
  }

  starting(title: string): void {
    this.#progress.done();
    this.#progress = new Progress(title);
  }

  told(step: StepTold): void {
    this.#number += 1;
    this.#say(stepWords(step, this.#number));
  }

  ended(record: DemoRecord): void {
    this.#say(`\n${recordWords(record)}\n`);
    if (record.missing !== undefined) this.#say(`${missingWords(record.missing)}\n`);
    const failed = record.steps.filter((step) => !step.ok).length;
    const time = took(performance.now() - this.#since);
    if (failed > 0) this.#say(style("red", `A step did not hold (${time}).`));
    else this.#say(`Everything that was told held: ${record.steps.length} steps in ${time}.`);
  }

  done(): void {
    this.#progress.done();
  }

  #say(text: string): void {
    this.#progress.done();
    if (this.#shell.json) process.stderr.write(`${text}\n`);
    else process.stdout.write(`${text}\n`);
  }
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first signal ends the demo and what it started, a second one this process at once. Returns how to stop listening. */
function abortOnSignals(stop: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(exitCode.interrupted);
    stop.abort(new Error(`stopped by ${signal}`));
  };
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

function readScript(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw badInput("script", `${file} cannot be read as JSON: ${(error as Error).message}`, "Name a file with a script.");
  }
}
