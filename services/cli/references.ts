import type {
  CheckpointId,
  EnvironmentId,
  HandoffId,
  LinkId,
  MoveId,
  ProjectId,
  RunId,
  TaskId,
  ThreadId,
  TransferId,
} from "../../schemas/ids.ts";
import type { ProviderChoice } from "../../schemas/provider.ts";
import type { LocalClient } from "../http/client.ts";
import type { LinkView } from "../runtime/environment-api.ts";
import { badInput } from "./failure.ts";

type IdOf = {
  thread: ThreadId;
  run: RunId;
  task: TaskId;
  transfer: TransferId;
  handoff: HandoffId;
  checkpoint: CheckpointId;
  link: LinkId;
  move: MoveId;
  project: ProjectId;
};
export type Noun = keyof IdOf;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const shown = 8;

/** The id that a reference means: a whole id, a unique beginning of its uuid part, or `@last`. Anything else is the caller's mistake. */
export async function resolve<N extends Noun>(client: LocalClient, noun: N, ref: string | undefined, within?: ThreadId): Promise<IdOf[N]> {
  if (ref === undefined || ref === "")
    throw badInput("missing_reference", `a ${noun} is missing`, `Name one; see: ropewalk ${listing[noun]}`);
  const ids = await candidates(client, noun, ref, within);
  return one(noun, ref, ids);
}

/** All that a reference may mean; whole ids are taken as they are, so that whoever asks is told by the environment. */
async function candidates<N extends Noun>(client: LocalClient, noun: N, ref: string, within?: ThreadId): Promise<IdOf[N][]> {
  if (ref.startsWith(`${noun}:`) && (uuid.test(ref.slice(noun.length + 1)) || /^thread:import:[0-9a-f]{32}$/.test(ref)))
    return [ref as IdOf[N]];
  if (ref.length > 600) throw badInput("unknown_reference", `that is too long to name a ${noun}`, `See: ropewalk ${listing[noun]}`);
  const { ids } = await client.resolve(noun, within === undefined ? { ref } : { ref, within });
  return ids as IdOf[N][];
}

function one<T extends string>(noun: string, ref: string, ids: readonly T[]): T {
  const [found, second] = ids;
  if (found === undefined)
    throw badInput("unknown_reference", `there is no ${noun} "${ref}"`, `See: ropewalk ${listing[noun as Noun] ?? "ls"}`);
  if (second !== undefined) {
    const more = ids.length > shown ? ", …" : "";
    throw badInput("ambiguous_reference", `"${ref}" may mean ${ids.slice(0, shown).join(", ")}${more}`, "Type more of the one you mean.", {
      candidates: ids,
    });
  }
  return found;
}

const listing: Record<Noun, string> = {
  thread: "ls",
  run: "run list THREAD",
  task: "task list",
  transfer: "transfer list",
  handoff: "transfer list",
  checkpoint: "run list THREAD",
  link: "link list",
  move: "ls",
  project: "project list",
};

/** A thread, or a run by an id of its own; a thread is looked for first. */
export async function resolveThreadOrRun(
  client: LocalClient,
  ref: string | undefined,
): Promise<{ threadId: ThreadId; runId: RunId | null }> {
  if (ref?.startsWith("run:") !== true) {
    const threads = ref === undefined ? [] : await candidates(client, "thread", ref);
    if (threads.length > 0 || ref === undefined) return { threadId: one("thread", ref ?? "", threads), runId: null };
  }
  const runId = await resolve(client, "run", ref);
  return { threadId: (await client.run(runId)).run.threadId, runId };
}

/** A fork's point: a run or a checkpoint by id or beginning, or a run by its number. */
export async function resolveForkPoint(client: LocalClient, threadId: ThreadId, ref: string) {
  // A fork's inherited runs belong to the threads that it was forked from.
  let at: ThreadId | null = threadId;
  for (let level = 0; at !== null && level < 100; level += 1) {
    const [runs, checkpoints]: [RunId[], CheckpointId[]] = await Promise.all([
      ref.startsWith("checkpoint:") ? [] : candidates(client, "run", ref, at),
      ref.startsWith("run:") || /^\d{1,7}$/.test(ref) ? [] : candidates(client, "checkpoint", ref, at),
    ]);
    if (runs.length + checkpoints.length > 0) {
      const id = one("run or checkpoint", ref, [...runs, ...checkpoints]);
      return id.startsWith("run:")
        ? ({ kind: "run", runId: id as RunId } as const)
        : ({ kind: "checkpoint", checkpointId: id as CheckpointId } as const);
    }
    at = (await client.thread(at)).thread.inherited?.threadId ?? null;
  }
  throw badInput("unknown_reference", `${threadId} has no run or checkpoint "${ref}"`, `See: ropewalk run list ${threadId}`);
}

/** An environment at the other end of a link: by the link's name or id, or by its own id or a beginning of it. */
export async function resolvePeer(client: LocalClient, ref: string): Promise<{ environmentId: EnvironmentId; link: LinkView }> {
  const { links } = await client.links();
  const exact = links.filter((l) => l.name === ref || l.id === ref || l.peerEnvironmentId === ref);
  const begins = (id: string) =>
    id
      .slice(id.indexOf(":") + 1)
      .replaceAll("-", "")
      .startsWith(ref.replace(/^(env|link):/, "").replaceAll("-", ""));
  const found = exact.length > 0 ? exact : links.filter((l) => begins(l.peerEnvironmentId) || begins(l.id));
  const [link, second] = found;
  const known =
    links.length === 0 ? "There are no links yet; config.json names them." : `Linked are: ${links.map((l) => l.name).join(", ")}.`;
  if (link === undefined) throw badInput("unknown_environment", `no link leads to "${ref}"`, known);
  if (second !== undefined) throw badInput("ambiguous_reference", `"${ref}" may mean ${found.map((l) => l.name).join(", ")}`, known);
  return { environmentId: link.peerEnvironmentId, link };
}

/** A project by id, beginning, name or path. */
export async function resolveProject(client: LocalClient, ref: string): Promise<ProjectId> {
  const { projects } = await client.projects();
  const named = projects.filter((p) => p.name === ref || p.path === ref);
  if (named.length > 0)
    return one(
      "project",
      ref,
      named.map((p) => p.id),
    );
  return resolve(client, "project", ref);
}

/** `INSTANCE` or `INSTANCE:MODEL`. */
export function providerChoice(text: string): ProviderChoice {
  const [instance = "", ...model] = text.split(":");
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(instance) || (text.includes(":") && model.join(":") === ""))
    throw badInput("not_a_provider", `"${text}" names no provider instance`, "Say it like codex or codex:gpt-5; see: ropewalk status");
  return { instance, model: text.includes(":") ? model.join(":") : null };
}
