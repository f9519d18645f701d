import { join } from "node:path";
import type { ThreadId } from "../../schemas/ids.ts";
import type { PurgePlace, PurgeReport, PurgeRest } from "../../schemas/purge.ts";
import type { ContentStore } from "../runtime/ports/content.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { RepositoryFinding, Workspaces } from "../runtime/ports/workspaces.ts";
import { Needle, whyNotPurged } from "../runtime/redaction/needle.ts";
import { Refused, refuse } from "../runtime/refused.ts";
import { threadFrom } from "../runtime/typed-actors.ts";
import type { BackupTexts } from "./backup-texts.ts";
import type { FileFinding } from "./file-search.ts";
import { searchFiles } from "./files.ts";
import { placesOf, threadsOf, toldBy } from "./places.ts";
import { type Alone, StoreText } from "./store-text.ts";

export type TextPurgeOptions = {
  dir: string;
  store: Store;
  content: ContentStore;
  workspaces: Pick<Workspaces, "lookFor" | "purgeText">;
  backups: Pick<BackupTexts, "look" | "purge" | "folders">;
  alone: Alone;
  /** Instances whose own record is in this environment's folder. */
  isOursToo(instance: string): boolean;
  letGoIdle(): Promise<void>;
  note(threadId: ThreadId, count: number): Promise<void>;
  onBoundary?: ((name: string) => void) | undefined;
};

const maxRounds = 3;

/**
 * Finds a text wherever this environment keeps content, and takes it out (decision 0110). Nothing of it is written down
 * anywhere, so nothing is taken up after a crash: the same call again finishes. One at a time.
 */
export class TextPurge {
  readonly #o: TextPurgeOptions;
  #before: Promise<unknown> = Promise.resolve();

  constructor(options: TextPurgeOptions) {
    this.#o = options;
  }

  /** Where it is. Throws Refused for a text that cannot be looked for. */
  look(text: string): Promise<PurgeReport> {
    return this.#inTurn(async () => (await this.#look(needleOf(text), text)).report);
  }

  /** Takes it out. Throws Refused where it cannot be done; `left` says where it stays. */
  purge(text: string): Promise<PurgeReport> {
    return this.#inTurn(async () => {
      const needle = needleOf(text);
      const { report, inNames } = await this.#look(needle, text);
      this.#hold(report, inNames);
      await this.#o.letGoIdle();
      for (let round = 0; round < maxRounds; round += 1) {
        await this.#takeOut(needle, text);
        const again = await new StoreText(this.#o.content, needle).look(this.#o.alone);
        if (again.found.every((finding) => finding.isMessage)) break;
      }
      const backups = await this.#o.backups.purge(needle);
      await this.#noted(report);
      await this.#o.alone(() => this.#o.content.compact());
      this.#o.onBoundary?.("after step purge.compacted");
      const { report: after } = await this.#look(needle, text);
      return { ...report, left: [...after.left, ...backups, ...(await this.#stillThere(after.places, text))] };
    });
  }

  async #takeOut(needle: Needle, text: string): Promise<void> {
    const store = new StoreText(this.#o.content, needle);
    await this.#o.workspaces.purgeText(needle, (commits) => store.replace(this.#o.alone, commits));
    await store.replace(this.#o.alone);
    this.#o.onBoundary?.("after step purge.store_replaced");
    await this.#files(text, ourFolders(this.#o.dir));
    this.#o.onBoundary?.("after step purge.files_replaced");
  }

  async #look(needle: Needle, text: string): Promise<{ report: PurgeReport; inNames: string[] }> {
    const { found, inNames } = await new StoreText(this.#o.content, needle).look(this.#o.alone);
    const repositories = await this.#o.workspaces.lookFor(needle);
    const { found: files, unreadable } = await this.#files(text, []);
    const ours = files.filter(({ path }) => isOurs(this.#o.dir, path));
    const places = [
      ...placesOf(
        this.#o.store,
        found.filter((f) => !f.isMessage),
      ),
      ...repositories.filter((r) => r.isOurs).map(placeInRepository),
      ...ours.map(placeInFile),
      ...(await this.#o.backups.look(needle)),
    ];
    const left = [
      ...placesOf(
        this.#o.store,
        found.filter((f) => f.isMessage),
      ).map(waiting),
      ...repositories.filter((r) => !r.isOurs).map(usersOwn),
      ...files.filter((file) => !ours.includes(file)).map((file) => ({ ...placeInFile(file), ...configuration })),
      ...unreadable.map((path) => ({ what: "file", name: path, threadId: null, count: 1, ...notRead })),
    ];
    const threads = threadsOf(places);
    return { report: { places, left, ...toldBy(this.#o.store, threads, this.#o.isOursToo) }, inNames };
  }

  /** All of the folder but what is open as a database here, and what the backups answer for. */
  #files(text: string, rewrite: string[]) {
    const databases = ["ropewalk.db", "ropewalk.db-wal", "ropewalk.db-shm", "lock.db"].map((name) => join(this.#o.dir, name));
    return searchFiles({ text, roots: [this.#o.dir], rewrite, skip: [...databases, ...this.#o.backups.folders] });
  }

  #hold(report: PurgeReport, inNames: readonly string[]): void {
    if (inNames.length > 0)
      refuse(
        "invalid_request",
        "text_in_names",
        `it is also part of what holds records together: ${inNames.join(", ")}`,
        "Give more of it.",
      );
    const running = threadsOf(report.places).filter((id) => threadFrom(this.#o.store, id)?.status === "running");
    if (running.length > 0)
      refuse(
        "invalid_request",
        "thread_running",
        `${running.length} threads that hold it have a run under way, which may write it again`,
        "Wait until they are idle, or stop them: ropewalk stop THREAD.",
        { threads: running },
      );
  }

  async #noted(report: PurgeReport): Promise<void> {
    for (const threadId of threadsOf(report.places)) {
      const count = report.places.reduce((sum, place) => (place.threadId === threadId ? sum + place.count : sum), 0);
      if (threadFrom(this.#o.store, threadId) !== null) await this.#o.note(threadId, count);
    }
  }

  /** What a look after all finds once more, and every byte of the store's own files. */
  async #stillThere(places: readonly PurgePlace[], text: string): Promise<PurgeRest[]> {
    const files = ["ropewalk.db", "ropewalk.db-wal"].map((name) => join(this.#o.dir, name));
    const { found } = await searchFiles({ text, roots: files, rewrite: [], skip: [] });
    return [...places, ...found.map(placeInFile)].map((place) => ({
      ...place,
      why: "it was written again meanwhile",
      hint: "Purge it once more.",
    }));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#before.then(work, work);
    this.#before = mine.catch(() => {});
    return mine;
  }
}

function needleOf(text: string): Needle {
  const why = whyNotPurged(text);
  if (why !== null) throw new Refused(why);
  return new Needle(text);
}

/** What agents and this environment write below its folder; the rest of it is configuration. */
const ourFolders = (dir: string): string[] =>
  ["providers", "worktrees", "scratch", "logs"].map((name) => join(dir, name)).concat(logsOf(dir));
const logsOf = (dir: string): string[] =>
  ["ropewalk.log", ...Array.from({ length: 20 }, (_, i) => `ropewalk.log.${i + 1}`)].map((name) => join(dir, name));
const isOurs = (dir: string, path: string): boolean => ourFolders(dir).some((root) => path === root || path.startsWith(`${root}/`));

const placeInFile = ({ path, count, where }: FileFinding): PurgePlace => ({
  what: where === "content" ? "file" : `file ${where}`,
  name: path,
  threadId: null,
  count,
});
const placeInRepository = ({ repository, what, name, threadId, count }: RepositoryFinding): PurgePlace => ({
  what,
  name: `${name} in ${repository}`,
  threadId,
  count,
});

const configuration = { why: "this is configuration, or somebody's own file", hint: "Take it out by hand." };
const notRead = { why: "it may not be read", hint: "Look into it by hand." };
const waiting = (place: PurgePlace): PurgeRest => ({
  ...place,
  why: "messages wait for a linked environment; they are numbered and digested as they are",
  hint: "Purge it once more when they have been delivered: ropewalk link show LINK.",
});
function usersOwn(finding: RepositoryFinding): PurgeRest {
  const place = placeInRepository(finding);
  if (finding.what === "objects")
    return {
      ...place,
      why: "git objects that nothing leads to; whose they are cannot be said",
      hint: "git gc removes them after two weeks; git prune at once.",
    };
  return { ...place, why: "it is yours", hint: finding.what === "commit" ? "Rewrite the commits that hold it." : "Take it out by hand." };
}
