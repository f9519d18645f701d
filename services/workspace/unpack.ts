import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ThreadId } from "../../schemas/ids.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import type { Arrival, Arriving } from "../runtime/ports/moving-code.ts";
import { git, gitMaybe, gitText, longMs } from "./git.ts";
import { dropRefs, setRef } from "./refs.ts";
import { isWorktree, type Setting, worktreePath } from "./setting.ts";
import { makeWorktree, removeWorktree } from "./worktree.ts";

/**
 * Brings code into a repository and makes a folder of it: the objects, what keeps them, the branch, the worktree. Each step
 * may be repeated, and is undone by {@link settleCode}. No checkout is touched that was not made here.
 */
export async function unpackCode(setting: Setting, arriving: Arriving): Promise<Arrival> {
  const repository = setting.store.project(arriving.projectId)?.path ?? "";
  if (!isWorktree(repository))
    return failed("workspace_missing", `the folder ${repository} is not there any more`, "Bring it back there, then move it again.");
  try {
    return await setting.alone(repository, () => unpack(setting, repository, arriving));
  } catch (error) {
    return failed("code_not_taken", error instanceof Error ? error.message : String(error), "Put that right there, then move it again.");
  }
}

async function unpack(setting: Setting, repository: string, arriving: Arriving): Promise<Arrival> {
  const { threadId, code } = arriving;
  const format = await gitText(repository, ["rev-parse", "--show-object-format"]);
  if (format !== code.format)
    return failed(
      "object_format",
      `the repository there is of the format ${format}, here it is ${code.format}`,
      "Move the conversation alone.",
    );
  await takeObjects(setting, repository, code.snapshot, code.bundle);
  setting.step("code.taken");
  const branch = await moveBranch(setting, repository, arriving);
  if (!branch.ok) return branch;
  await setRef(repository, setting.refs.baseOf(threadId), code.snapshot);
  const path = worktreePath(setting, threadId);
  await makeWorktree(repository, path, code.snapshot, setting.step);
  setting.step("code.placed");
  return { ok: true, path, left: branch.left };
}

/** All that the snapshot needs is in the repository afterwards, or nothing is taken for it. */
async function takeObjects(setting: Setting, repository: string, snapshot: string, bundle: string): Promise<void> {
  if (await isWhole(repository, snapshot)) return;
  await mkdir(setting.scratch, { recursive: true });
  const own = await mkdtemp(join(setting.scratch, ".bundle-"));
  try {
    const file = join(own, "code.bundle");
    await writeFile(file, Buffer.from(bundle, "base64"));
    await git(repository, ["bundle", "unbundle", file], { timeoutMs: longMs });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  if (!(await isWhole(repository, snapshot))) throw new Error("what came does not hold all that its snapshot needs");
}

const isWhole = async (repository: string, snapshot: string): Promise<boolean> =>
  (await gitMaybe(repository, ["rev-list", "--objects", "--quiet", snapshot, "--not", "--all"], { timeoutMs: longMs })) !== null;

type BranchMoved = { ok: true; left: string[] } | { ok: false; refusal: Refusal };

/**
 * The branch that was checked out there moves here to what was: made where there is none, on to a descendant where there
 * is one. Where it went another way, what came is parked under a ref of its own.
 */
async function moveBranch(setting: Setting, repository: string, { threadId, moveId, from, code }: Arriving): Promise<BranchMoved> {
  const { branch, head } = code;
  if (branch === null || head === null) return { ok: true, left: [] };
  const ref = `refs/heads/${branch}`;
  await git(repository, ["check-ref-format", ref]);
  const tip = await gitMaybe(repository, ["rev-parse", "-q", "--verify", `${ref}^{commit}`]);
  if (tip === head || (tip !== null && (await isAncestor(repository, head, tip)))) return { ok: true, left: [] };
  if (tip !== null && !(await isAncestor(repository, tip, head))) {
    const parked = `refs/handoff/${plain(from)}/${plain(moveId)}/${branch}`;
    await setRef(repository, parked, head);
    return { ok: false, refusal: diverged(branch, parked) };
  }
  const holder = await checkedOutIn(repository, ref);
  if (holder !== null) {
    const why = `the branch ${branch} is checked out in ${holder} there and was not moved; its commits are in the thread's worktree`;
    return { ok: true, left: [why] };
  }
  // What undoing needs is written first.
  if (tip === null) await setRef(repository, setting.refs.named(threadId, branchMade), head);
  else await setRef(repository, setting.refs.named(threadId, branchWas), tip);
  await git(repository, ["update-ref", "--no-deref", ref, head, tip ?? none(head)]);
  setting.step("branch.moved");
  return { ok: true, left: [] };
}

const branchWas = "branch-was";
const branchMade = "branch-made";
const none = (name: string) => "0".repeat(name.length);
const plain = (id: string) => id.slice(id.indexOf(":") + 1);

const isAncestor = async (repository: string, one: string, of: string): Promise<boolean> =>
  (await gitMaybe(repository, ["merge-base", "--is-ancestor", one, of])) !== null;

/** The checkout that is on a branch; git lets no two of them be. */
async function checkedOutIn(repository: string, ref: string): Promise<string | null> {
  const listed = await gitText(repository, ["worktree", "list", "--porcelain", "-z"]);
  const entry = listed.split("\0\0").find((lines) => lines.split("\0").includes(`branch ${ref}`));
  return entry === undefined ? null : (/(?:^|\0)worktree ([^\0]*)/.exec(entry)?.[1] ?? "another worktree");
}

export type Arrived = { projectId: Arriving["projectId"]; threadId: ThreadId; branch: string | null; head: string | null; undo: boolean };

/** Lets go of what was only for undoing; or undoes, each step where nobody has changed it since. Says what was left. */
export async function settleCode(setting: Setting, { projectId, threadId, branch, head, undo }: Arrived): Promise<string> {
  const repository = setting.store.project(projectId)?.path ?? "";
  if (!isWorktree(repository)) return "the repository is not there any more";
  return setting.alone(repository, async () => {
    const note = undo && branch !== null && head !== null ? await undoBranch(setting, repository, threadId, branch, head) : "";
    if (undo) await removeWorktree(repository, worktreePath(setting, threadId), setting.step);
    const ours = (await setting.refs.list(repository, threadId)).filter(({ of }) => undo || of === branchWas || of === branchMade);
    await dropRefs(
      repository,
      ours.map((r) => r.ref),
    );
    return note;
  });
}

async function undoBranch(setting: Setting, repository: string, threadId: ThreadId, branch: string, head: string): Promise<string> {
  const ref = `refs/heads/${branch}`;
  const own = await setting.refs.list(repository, threadId);
  const was = own.find(({ of }) => of === branchWas)?.commit;
  const made = own.some(({ of }) => of === branchMade);
  if (was === undefined && !made) return "";
  const args = was === undefined ? ["-d", ref, head] : [ref, was, head];
  const undone = await gitMaybe(repository, ["update-ref", "--no-deref", ...args]);
  return undone === null ? `${ref} was left: it has moved since` : "";
}

const diverged = (branch: string, parked: string) =>
  refusal(
    "invalid_request",
    "branch_diverged",
    `the branch ${branch} went another way there; what was to come is parked there as ${parked}`,
    "Merge or rebase one onto the other, then move it again; or move the conversation alone with --without-code.",
    { branch, parked },
  );

const failed = (reason: string, message: string, hint: string): Arrival => ({
  ok: false,
  refusal: refusal("orchestration_error", reason, message, hint),
});
