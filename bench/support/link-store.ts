import type { EnvironmentConfig } from "../../schemas/config.ts";
import type { LinkId, RunId, TaskId, ThreadId } from "../../schemas/ids.ts";
import { loadOrCreateKeys } from "../../services/links/keys.ts";
import { createNatsTransport } from "../../services/links/nats/transport.ts";
import { createLinkService } from "../../services/links/service.ts";
import { Dispatcher } from "../../services/runtime/dispatcher.ts";
import { RuntimeLinkLedger } from "../../services/runtime/ledger.ts";
import { contentDigest, nextLinkDigest } from "../../services/runtime/link-digest.ts";
import { newLinkRow } from "../../services/runtime/outbox.ts";
import { Settings } from "../../services/runtime/settings.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { systemIdentifiers as ids } from "../../services/runtime/system-identifiers.ts";
import { openStore } from "../../services/store/sqlite-store.ts";
import { batchOf } from "./batches.ts";
import type { Side } from "./linked.ts";

/** A store with its end of a link and nothing else of an environment: what the link itself costs. */
export async function startLinkStore(side: Side) {
  const store = openStore(side.dir);
  const keys = loadOrCreateKeys(side.dir);
  const { links, nats, environment } = side.config;
  const [link] = links;
  if (!keys.ok || link === undefined || nats == null) throw new Error("no link");
  const settings = new Settings({ defaultProvider: null, providers: {}, limits: {}, ...side.config } as EnvironmentConfig);
  let onCommitted: () => void = () => {};
  const dispatcher = new Dispatcher({
    store,
    clock: systemClock,
    ids,
    settings,
    scratch: { projectId: ids.next("project"), path: side.dir },
    onCommitted: ({ outboxLinks }) => {
      ledger.wrote(outboxLinks);
      onCommitted();
    },
    onFatal() {},
  });
  const ledger: RuntimeLinkLedger = new RuntimeLinkLedger(store, dispatcher, { folder: async () => null });
  await dispatcher.report({ type: "link.configure", linkId: link.id, name: link.name, peerEnvironmentId: link.peer.environmentId });
  const transport = createNatsTransport({ url: nats.url, name: environment.name, clock: systemClock });
  const service = createLinkService({ environmentId: environment.id, keys: keys.keys, links, transport, ledger, clock: systemClock });
  await service.start();
  const row = () => store.link(link.id) ?? newLinkRow(link.id, store.incarnation);
  return {
    /** Commits messages of `bytes` each to the peer: results of a task that it keeps for reading. */
    write(count: number, bytes: number): void {
      let { sent } = row();
      const outbox = Array.from({ length: count }, () => {
        const body = message(bytes);
        const digest = nextLinkDigest(sent.digest, contentDigest(body));
        sent = { ...sent, number: sent.number + 1, digest };
        return { linkId: link.id, epoch: sent.epoch, number: sent.number, kind: "notice" as const, requestId: null, body, digest };
      });
      store.commit(batchOf({ outbox, links: [{ ...row(), sent }] }));
      ledger.wrote(new Set<LinkId>([link.id]));
    },
    /** Resolves at the commit with which `count` messages of the peer are in this store. */
    received: (count: number) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if ((row().received?.number ?? 0) < count) return;
          onCommitted = () => {};
          resolve();
        };
        onCommitted = look;
        look();
      }),
    get receivedNumber() {
      return row().received?.number ?? 0;
    },
    get isOnline() {
      return service.stats(link.id)?.answered === true;
    },
    async stop() {
      await service.stop();
      await dispatcher.close();
      store.close();
    },
  };
}

function message(bytes: number): string {
  const notice = {
    kind: "task.result" as const,
    taskId: ids.next("task") as TaskId,
    childThreadId: ids.next("thread") as ThreadId,
    runId: ids.next("run") as RunId,
    ordinal: 1,
    ending: "completed" as const,
    text: "",
    error: null,
  };
  const bare = JSON.stringify({ type: "notice", notice }).length;
  return JSON.stringify({ type: "notice", notice: { ...notice, text: "x".repeat(Math.max(0, bytes - bare)) } });
}
