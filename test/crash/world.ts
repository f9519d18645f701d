import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PublicCommand } from "../../schemas/command.ts";
import type { ResultOf } from "../../schemas/results.ts";
import { type Folder, type Folders, prepareFolders } from "../../services/cli/demo/folders.ts";
import { SocketSide } from "../../services/cli/demo/socket-side.ts";
import type { Side, SideName, Stage } from "../../services/cli/demo/story/stage.ts";
import { type StepTold, tellStory } from "../../services/cli/demo/story/story.ts";
import { wordsWith } from "../../services/cli/demo/story/words.ts";
import { createEnvironment } from "../../services/environment.ts";
import { connectLocal, type LocalClient } from "../../services/http/client.ts";
import type { LinkView } from "../../services/runtime/environment-api.ts";
import { serveEnvironment } from "../../services/serving.ts";
import type { Point } from "./boundary.ts";
import { type EndState, endStateOf } from "./end-state.ts";

const program = fileURLToPath(new URL("environment-process.ts", import.meta.url));
const patienceMs = 30_000;

/** What happens to one side's processes while the story is told. */
type SideTrouble = {
  /** Where its processes kill, one place for each process after the other; those that follow, and with none all, live on. */
  places: Point[];
  /** Who is killed there; without: the process itself. */
  victim?: number;
};
/** A side without trouble lives in the test's process. */
export type Trouble = Partial<Record<SideName, SideTrouble>> & {
  /** Another script for the providers of both sides. */
  script?: unknown;
};

export type Told = {
  steps: StepTold[];
  end: EndState;
  /** True when every place of the trouble was reached. */
  reached: boolean;
  /** The boundaries that the first process of each troubled side passed. */
  recorded: Partial<Record<SideName, string[]>>;
  /** Every command of the story, sent once more at the end, was answered as the first time and did nothing. */
  replayed: { key: string; same: boolean }[];
};

/** Two environments and the story. */
export async function tellWithTrouble(broker: string, trouble: Trouble): Promise<Told> {
  const root = mkdtempSync(join(tmpdir(), "rw-crash-"));
  const folders = prepareFolders(root, { provider: "scripted", script: trouble.script ?? null, broker });
  const world = new World(root, folders, trouble);
  try {
    return await world.tell();
  } finally {
    await world.end();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

class World {
  readonly #root: string;
  readonly #folders: Folders;
  readonly #trouble: Trouble;
  readonly #clients: LocalClient[] = [];
  readonly #running: { stop(): Promise<void> }[] = [];

  constructor(root: string, folders: Folders, trouble: Trouble) {
    this.#root = root;
    this.#folders = folders;
    this.#trouble = trouble;
  }

  async tell(): Promise<Told> {
    const { laptop, box } = this.#folders as Folders & { box: Folder };
    const processes = new Map<SideName, TroubledProcess>();
    for (const { name, dir } of [laptop, box]) {
      const trouble = this.#trouble[name];
      if (trouble !== undefined) processes.set(name, new TroubledProcess(name, dir, this.#root, trouble));
      this.#running.push(processes.get(name) ?? (await startHere(dir)));
    }
    const sides = { laptop: this.#side(laptop), box: this.#side(box) };
    const stage: Stage = { ...sides, providers: this.#folders.providers, answersAreScripted: true };
    const steps = await tellStory({ stage, words: wordsWith("3f2a"), memory: { imports: [] } });
    const broken = steps.find((step) => !step.ok);
    if (broken !== undefined) throw new Error(`${broken.id}: ${JSON.stringify(broken.failed)}`, { cause: broken.error });
    const replayed = [...(await sides.laptop.replay()), ...(await sides.box.replay())];
    await this.#quiet();
    await this.#stop();
    return {
      steps,
      replayed,
      end: endStateOf({ laptop: laptop.dir, box: box.dir }, Object.values(this.#folders.providers)),
      reached: [...processes.values()].every((one) => one.reached),
      recorded: Object.fromEntries([...processes].map(([name, one]) => [name, one.recorded])),
    };
  }

  async end(): Promise<void> {
    await this.#stop();
    for (const client of this.#clients) client.close();
  }

  #side({ name, dir, environmentId }: Folder): RecordingSide {
    const client = connectLocal(dir);
    this.#clients.push(client);
    return new RecordingSide({ name, environmentId, client, waitMs: patienceMs, patienceMs });
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((one) => one.stop()));
  }

  /** Everything that was sent is confirmed, and both sides know it. */
  async #quiet(): Promise<void> {
    const [laptop, box] = this.#clients as [LocalClient, LocalClient];
    const end = performance.now() + patienceMs;
    for (;;) {
      const links = await Promise.all([linkOf(laptop), linkOf(box)]).catch(() => null);
      if (links !== null && agree(links[0], links[1])) return;
      if (performance.now() > end) throw new Error(`the link does not come to rest: ${JSON.stringify(links)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

async function startHere(dir: string): Promise<{ stop(): Promise<void> }> {
  const environment = await createEnvironment({ dir });
  const server = await serveEnvironment(environment);
  return {
    async stop() {
      await server.close();
      await environment.close();
    },
  };
}

const linkOf = async (client: LocalClient) => (await client.links()).links[0] as LinkView;

function agree(a: LinkView, b: LinkView): boolean {
  const same = (x: unknown, y: unknown) => JSON.stringify(x) === JSON.stringify(y);
  const oneWay = (from: LinkView, to: LinkView) =>
    from.backlog === 0 && from.openRequests.length === 0 && from.receipted.number === from.sent.number && same(from.sent, to.received);
  return oneWay(a, b) && oneWay(b, a);
}

/** Keeps what it was asked, to ask it once more. */
class RecordingSide extends SocketSide implements Side {
  readonly #sent = new Map<string, { command: PublicCommand; result: unknown }>();

  override async send<C extends PublicCommand>(command: C, key: string): Promise<ResultOf[C["type"]]> {
    const result = await super.send(command, key);
    this.#sent.set(key, { command, result });
    return result;
  }

  async replay(): Promise<{ key: string; same: boolean }[]> {
    const again = [];
    for (const [key, { command, result }] of [...this.#sent]) {
      again.push({ key, same: JSON.stringify(await super.send(command, key)) === JSON.stringify(result) });
    }
    return again;
  }
}

/** The side's process, and the next one as soon as one was killed. */
class TroubledProcess {
  readonly #name: SideName;
  readonly #dir: string;
  readonly #root: string;
  readonly #trouble: SideTrouble;
  #child: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #started = 0;
  #stopping = false;

  constructor(name: SideName, dir: string, root: string, trouble: SideTrouble) {
    this.#name = name;
    this.#dir = dir;
    this.#root = root;
    this.#trouble = trouble;
    this.#start();
  }

  get reached(): boolean {
    return this.#trouble.places.every((_, at) => existsSync(this.#mark(at)));
  }

  get recorded(): string[] {
    return readFileSync(this.#record, "utf8").trim().split("\n");
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#child?.kill("SIGTERM");
    await this.#exited;
  }

  get #record(): string {
    return join(this.#root, `${this.#name}-boundaries`);
  }

  #mark(at: number): string {
    return join(this.#root, `${this.#name}-killed-${at}`);
  }

  #start(): void {
    const at = this.#started++;
    const { places, victim } = this.#trouble;
    const place = places[at];
    const args = ["--dir", this.#dir];
    if (at === 0) args.push("--record", this.#record);
    if (place !== undefined)
      args.push("--moment", place.moment, "--event", place.event, "--nth", String(place.nth), "--mark", this.#mark(at));
    if (victim !== undefined) args.push("--victim", String(victim));
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "inherit", "inherit"] });
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    void this.#exited.then(() => {
      // One that does not come up at all would come up no better a hundred times.
      if (!this.#stopping && this.#started < 10) this.#start();
    });
  }
}
