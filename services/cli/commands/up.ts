import { Command, Option } from "commander";
import type { EnvironmentConfig, HttpConfig } from "../../../schemas/config.ts";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import { findSocket } from "../../http/client/find-socket.ts";
import { connectLocal } from "../../http/client.ts";
import { loadOrCreateConfig } from "../../runtime/config-file.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { type BackgroundNews, logFile } from "../background.ts";
import { type ExitCode, exitCode } from "../exit-codes.ts";
import { badInput, CliFailure, failureOf } from "../failure.ts";
import { httpOf, type ListenOptions, listenArguments, withListenOptions } from "../listen-options.ts";
import { installedService } from "../service/find.ts";
import { offline } from "../session.ts";
import type { Shell } from "../shell.ts";
import { startFor } from "../starting.ts";
import { facts } from "../table.ts";
import { wordLog } from "../word-log.ts";

type Options = ListenOptions & { detach?: boolean; asBackground?: boolean; verbose?: boolean };
type Http = HttpConfig | null | undefined;

export function upCommand(): Command {
  const command = new Command("up")
    .description("run the environment here, until Ctrl-C; made first when the folder is empty")
    .option("--detach", "run it in the background instead")
    .option("--verbose", "tell everything that happens, not only trouble")
    .addOption(new Option("--as-background").hideHelp());
  return withListenOptions(command).action(
    offline<Options>(async (shell, { options }) => {
      const http = httpOf(options);
      if (options.detach === true) return detach(shell, http);
      return options.asBackground === true ? inBackground(shell, http) : inForeground(shell, http, options.verbose === true);
    }),
  );
}

async function detach(shell: Shell, http: Http): Promise<ExitCode> {
  const running = await whoRuns(shell.dir);
  if (running !== null) {
    shell.answer({ ...running, started: false }, () => `an environment is running on ${shell.dir} already (pid ${running.pid})`);
    return exitCode.ok;
  }
  if (http !== undefined && installedService(shell.dir) !== null)
    throw badInput(
      "service_installed",
      "this environment runs as a service, which is not told how to listen on a command line",
      "Say it under http in config.json, or take the service away: ropewalk service remove",
    );
  const client = connectLocal(shell.dir);
  try {
    const { by, pid, note } = await startFor(client, listenArguments(http));
    if (note !== null) shell.note(note);
    const { url } = await client.clients();
    const socket = findSocket(shell.dir) ?? shell.dir;
    shell.answer({ pid, socket, url, dir: shell.dir, log: logFile(shell.dir), started: by !== "other", service: by === "service" }, () =>
      [
        `the environment runs ${by === "service" ? "as a service" : "in the background"} (pid ${pid}); stop it with: ropewalk down`,
        whereWords(shell.dir, { socket, url }),
      ].join("\n"),
    );
  } finally {
    client.close();
  }
  return exitCode.ok;
}

async function whoRuns(dir: string): Promise<{ pid: number; dir: string } | null> {
  const client = connectLocal(dir);
  try {
    const { environment } = await client.environment();
    return { pid: environment.pid, dir: environment.dir };
  } catch (error) {
    if (error instanceof EnvironmentUnreachable) return null;
    throw error;
  } finally {
    client.close();
  }
}

async function inForeground(shell: Shell, http: Http, verbose: boolean): Promise<ExitCode> {
  const served = serveUntilStopped(shell.dir, http, wordLog(verbose), (environment, { socket, url }) => {
    const { id, name, dir } = environment;
    shell.answer({ environmentId: id, name, dir, socket, url, pid: process.pid }, () =>
      [`${name} is up (${id}); stop it with Ctrl-C`, whereWords(dir, { socket, url })].join("\n"),
    );
  });
  await served.catch((error) => {
    throw isServed(shell.dir, error);
  });
  if (!shell.json) shell.note("stopped");
  return exitCode.ok;
}

/** Whoever finds the folder taken by its service is told so. */
function isServed(dir: string, error: unknown): unknown {
  const { refusal, exit } = failureOf(error);
  if (refusal.reason !== "store_locked" || installedService(dir) === null) return error;
  const hint = "It runs as a service: ropewalk service status. To have it here instead: ropewalk down, then ropewalk up";
  return new CliFailure({ ...refusal, hint }, exit);
}

type Where = { socket: string; url: string | null };

const whereWords = (dir: string, { socket, url }: Where) =>
  facts([
    ["folder", dir],
    ["listens", `${socket} (this user only)`],
    ["programs", url === null ? "cannot come in (nothing listens on the network)" : `come in at ${url} when let in: ropewalk client add`],
  ]);

async function inBackground(shell: Shell, http: Http): Promise<ExitCode> {
  const tell = (news: BackgroundNews) =>
    new Promise<void>((resolve) => {
      // Whoever started it may be gone; it runs all the same.
      process.once("disconnect", () => resolve());
      if (!process.connected || process.send === undefined) return resolve();
      process.send(news, () => process.connected && process.disconnect());
    });
  const { openLog } = await import("../log.ts");
  const log = openLog(logFile(shell.dir));
  try {
    await serveUntilStopped(
      shell.dir,
      http,
      log,
      (_, { socket, url }) => void tell({ type: "ready", pid: process.pid, socket, url }),
      () => log.bound(logBounds(shell.dir)),
    );
    return exitCode.ok;
  } catch (error) {
    const { refusal, exit } = failureOf(error);
    // Whoever has the folder may be emptying its log just now.
    if (refusal.reason !== "store_locked") log.warn({ refusal }, refusal.message);
    await tell({ type: "failed", refusal, exit });
    return exit;
  }
}

/** As `config.json` has them: the environment that is served has just read it. */
function logBounds(dir: string): EnvironmentConfig["logs"] {
  const loaded = loadOrCreateConfig(dir);
  return loaded.ok ? loaded.config.logs : {};
}

/** Serves an environment until a signal, or somebody over its socket, ends it; then closes it cleanly. */
async function serveUntilStopped(
  dir: string,
  http: Http,
  log: ReturnType<typeof wordLog>,
  onReady: (environment: Environment, where: Where) => void,
  /** The folder is this process's. */
  onOpened: () => void = () => {},
): Promise<void> {
  const stop = new AbortController();
  const byHand = stopOnSignals(stop);
  try {
    const [{ createEnvironment }, { serveEnvironment }] = await Promise.all([import("../../environment.ts"), import("../../serving.ts")]);
    const environment = await createEnvironment({ dir, log });
    try {
      onOpened();
      const server = await serveEnvironment(environment, {
        ...(http !== undefined && { http }),
        shutdown: () => stop.abort("asked to"),
        warn: (facts, text) => log.warn(facts, text),
        info: (facts, text) => log.info(facts, text),
        onError: (error) => log.warn({ error: error.stack }, `a request failed: ${error.message}`),
      });
      log.info({ dir: environment.dir, socket: server.socket, url: server.url, pid: process.pid }, "up");
      onReady(environment, server);
      if (!stop.signal.aborted) await new Promise((resolve) => stop.signal.addEventListener("abort", resolve, { once: true }));
      log.info({ why: String(stop.signal.reason) }, "stopping");
      await server.close();
    } finally {
      await environment.close();
    }
    log.info({}, "stopped");
  } finally {
    byHand();
  }
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first signal ends it cleanly, a second one at once. Returns how to stop listening. */
function stopOnSignals(stop: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(exitCode.interrupted);
    stop.abort(signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}
