import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProjectId, ThreadId } from "../../schemas/ids.ts";
import { temporaryFolder } from "./environments.ts";
import { type LinkedSide, type LinkFabric, linkedPair, memoryFabric } from "./linked.ts";
import { git } from "./repository.ts";

/** `write FILE TEXT` writes a file; anything else is heard. */
const script = {
  rules: [
    { match: { regex: "^write (\\S+) ([\\s\\S]*)$" }, steps: [{ fileChange: { path: "$1", content: "$2" } }, { text: "wrote $1" }] },
    { match: { regex: ".*" }, steps: [{ text: "heard" }] },
  ],
};

type Place = { side: LinkedSide; repository: string; projectId: ProjectId };
export type Scene = { a: Place; b: Place; threadId: ThreadId };

export const write = (folder: string, name: string, text: string | Buffer) => writeFileSync(join(folder, name), text);
/** Commits all that a folder holds. Returns the commit. */
export function commit(folder: string, message: string): string {
  git(folder, "add", "-A");
  git(folder, "commit", "-q", "-m", message);
  return git(folder, "rev-parse", "HEAD").trim();
}
/** What a ref points to; empty where there is none. */
export const tipOf = (folder: string, ref: string) => git(folder, "for-each-ref", "--format=%(objectname)", ref).trim();
export const handoffRefs = (folder: string) =>
  git(folder, "for-each-ref", "--format=%(refname)", "refs/handoff").split("\n").filter(Boolean);

/** Two copies of one repository, each known to an environment, and a thread of `a` that works in its copy. */
export async function movingScene(prepare: (a: string, b: string) => void = () => {}, fabric: LinkFabric = memoryFabric()): Promise<Scene> {
  const root = temporaryFolder();
  const origin = join(root, "origin.git");
  git(root, "init", "-q", "--bare", "-b", "main", origin);
  const clones = ["a", "b"].map((name) => {
    git(root, "clone", "-q", origin, name);
    return join(root, name);
  }) as [string, string];
  git(clones[0], "switch", "-q", "-c", "main");
  write(clones[0], "rope.txt", "one\ntwo\nthree\n");
  write(clones[0], ".gitignore", "ignored.txt\n");
  commit(clones[0], "first");
  git(clones[0], "push", "-q", "origin", "main");
  git(clones[1], "pull", "-q", "origin", "main");
  prepare(...clones);
  const { a, b } = await linkedPair(fabric, { a: { scripts: { p1: script } }, b: { scripts: { p1: script } } });
  const places: Place[] = [];
  for (const [side, repository] of [[a, clones[0]] as const, [b, clones[1]] as const]) {
    const { projectId } = await side.env.send({ type: "project.add", path: repository });
    places.push({ side, repository, projectId });
  }
  const [left, right] = places as [Place, Place];
  const threadId = await a.env.newThread({ projectId: left.projectId });
  await a.env.say(threadId, "hello");
  return { a: left, b: right, threadId };
}
