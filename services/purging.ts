import type { Command, Receipt } from "../schemas/command.ts";
import type { EffectId } from "../schemas/ids.ts";
import { measureSynced as measure } from "./backup/files.ts";
import { manifestIn, writeManifest } from "./backup/manifest.ts";
import { backupPlaces } from "./backup/places.ts";
import type { ProviderHost } from "./providers/host.ts";
import { BackupTexts } from "./purge/backup-texts.ts";
import { InTurn } from "./purge/in-turn.ts";
import { TextPurge } from "./purge/text-purge.ts";
import { threadPurge } from "./purge/thread-purge.ts";
import type { Dispatcher } from "./runtime/dispatcher.ts";
import type { Store } from "./runtime/ports/store.ts";
import type { Workspaces } from "./runtime/ports/workspaces.ts";
import type { Settings } from "./runtime/settings.ts";
import type { SqliteStore } from "./store/sqlite-store.ts";
import { openContent } from "./store/stored-content.ts";
import { bundleText } from "./workspace/purge/bundle-text.ts";
import type { Setting } from "./workspace/setting.ts";

/** Purging threads and texts, of the parts that hold content. */
export function purging(o: {
  store: SqliteStore;
  /** The same, as the services inside see it. */
  inside: Store;
  dispatcher: Dispatcher;
  settings: Settings;
  workspaces: Workspaces;
  setting: Pick<Setting, "scratch">;
  host: Pick<ProviderHost, "letGoIdle">;
  report(command: Command, closes?: readonly EffectId[]): Promise<Receipt>;
  onBoundary: ((name: string) => void) | undefined;
}) {
  const { store, inside, workspaces, report, onBoundary } = o;
  const step = (name: string) => onBoundary?.(`after step ${name}`);
  const alone = async <T>(work: () => T) => {
    const result = await o.dispatcher.alone(work);
    step("purge.turn");
    return result;
  };
  const letGoIdle = () => o.host.letGoIdle();
  const shared = { store: inside, content: store.content, workspaces, alone, letGoIdle, onBoundary };
  const texts = new TextPurge({
    ...shared,
    dir: store.folder,
    backups: new BackupTexts({
      places: () => backupPlaces(store.folder),
      manifestIn,
      writeManifest,
      measure,
      openContent,
      bundleText: (...asked) => bundleText(o.setting, ...asked),
      step,
    }),
    isOursToo: (instance) => o.settings.config.providers[instance]?.kind === "scripted",
    note: async (threadId, count) => void (await report({ type: "thread.text_purged", threadId, count })),
  });
  const inTurn = new InTurn(() => alone(() => store.content.compact()));
  return { texts, thread: threadPurge({ ...shared, inTurn, report }), stop: () => inTurn.stop() };
}
