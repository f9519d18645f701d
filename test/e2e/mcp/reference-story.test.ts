import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { prepareFolders } from "../../../services/cli/demo/folders.ts";
import { readInputs } from "../../../services/cli/demo/provider-inputs.ts";
import type { Loose, TestClient } from "../../services/mcp/rig.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { TestNats } from "../../support/nats.ts";
import { OutsideAgent } from "../../support/outside-agent.ts";
import { git, makeRepository } from "../../support/repository.ts";
import { RunningEnvironment } from "../../support/up.ts";

const header = "Imported conversation history from before this thread ran here.";
const codeword = "KINGFISHER-17C0";
const ask = "What is the codeword of the release? One line.";

let nats: TestNats;
beforeAll(async () => {
  nats = await TestNats.start();
});
afterAll(() => nats.end());

/** A laptop and a box, linked, whose projects are clones of one bare repository; each a process of its own. */
async function twoEnvironments() {
  const root = temporaryFolder();
  const { laptop, box } = prepareFolders(root, { provider: "scripted", script: null, broker: nats.url });
  if (box === null) throw new Error("there is no box");
  makeRepository(join(root, "first"));
  git(root, "clone", "--bare", "first", "origin.git");
  const start = async (folder: typeof laptop) => {
    mkdirSync(join(root, `work-of-${folder.name}`));
    const clone = join(root, `work-of-${folder.name}`, "rope");
    git(root, "clone", join(root, "origin.git"), clone);
    const running = await RunningEnvironment.start(folder.dir);
    await running.cli("project", "add", clone, "--name", `rope on ${folder.name}`);
    return running;
  };
  const [one, other] = await Promise.all([start(laptop), start(box)]);
  return { laptop: one, box: other };
}

type Repository = { kind: string; value: string };

/** The project of an environment by what two environments know it by: its repository. */
async function projectOf(client: TestClient, repository?: Repository): Promise<{ id: string; repository: Repository }> {
  const { projects } = await client.use<Loose>("orchestrator_capabilities");
  const wanted = (project: Loose) =>
    repository === undefined ? project.repository !== null : JSON.stringify(project.repository) === JSON.stringify(repository);
  return projects.find(wanted);
}

/** A conversation as another environment takes it, read in small pages. */
async function exported(client: TestClient, threadId: ThreadId) {
  const messages: { role: string; text: string }[] = [];
  let cursor: string | null = null;
  do {
    const args = { threadId, messagesOnly: true, oldestFirst: true, limit: 1, ...(cursor !== null && { cursor }) };
    const page: Loose = await client.use("t3_thread_read", args);
    for (const { kind, text } of page.items) messages.push({ role: kind === "user_message" ? "user" : "assistant", text });
    cursor = page.nextCursor;
  } while (cursor !== null && messages.length < 100);
  return messages;
}

/** Everything that a retry could make twice. */
async function counts(box: RunningEnvironment, client: TestClient, threadId: ThreadId) {
  const [{ threads }, read] = await Promise.all([
    client.use<Loose>("t3_thread_list", { limit: 100 }),
    client.use<Loose>("t3_thread_read", { threadId, limit: 100 }),
  ]);
  const inputs = ["amber", "birch"].flatMap((instance) => readInputs(box.dir, instance) ?? []);
  return { threads: threads.length, runs: read.thread.runs, items: read.items.map((item: Loose) => item.id), inputs: inputs.length };
}

test("an agent with two pairing codes takes a conversation from the laptop to the box, once however often it tries", async () => {
  const { laptop, box } = await twoEnvironments();
  const [here, there] = await Promise.all([OutsideAgent.pairedWith(laptop, "ferry"), OutsideAgent.pairedWith(box, "ferry")]);
  const [onLaptop, onBox] = await Promise.all([here.at(laptop), there.at(box)]);

  const project = await projectOf(onLaptop);
  const said = await onLaptop.use("t3_thread_launch", {
    prompt: `The codeword of this release is ${codeword}. Repeat it. One line.`,
    projectId: project.id,
    clientRequestId: "say-it",
  });
  const first = { threadId: said.threadId, runId: said.runId, waitSeconds: 20 };
  expect(await onLaptop.use("t3_thread_wait", first)).toMatchObject({ status: "completed", answer: codeword });
  const sent = await onLaptop.use("t3_thread_send", {
    threadId: said.threadId,
    text: "Name two risks of the release, one line each.",
    clientRequestId: "risks",
  });
  await onLaptop.use("t3_thread_wait", { threadId: said.threadId, runId: sent.runId, waitSeconds: 20 });

  const messages = await exported(onLaptop, said.threadId);
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  const matching = await projectOf(onBox, project.repository);
  const handedOver = {
    handoffId: "to-the-box",
    sourceEnvironmentId: laptop.id,
    sourceThreadId: said.threadId,
    title: "Release plan",
    messages,
    projectId: matching.id,
    continuationPrompt: ask,
  };
  const imported = await onBox.use("t3_thread_import", handedOver);
  const digest = createHash("sha256").update(`${laptop.id}\n${said.threadId}\nto-the-box`).digest("hex");
  expect(imported).toMatchObject({ threadId: `thread:import:${digest.slice(0, 32)}`, created: true, continuation: "started" });
  const { threadId, runId } = imported;
  expect(await onBox.use("t3_thread_wait", { threadId, runId, waitSeconds: 20 })).toMatchObject({ status: "completed", answer: codeword });

  const { thread, items } = await onBox.use("t3_thread_read", { threadId, oldestFirst: true });
  expect(thread).toMatchObject({ historyOrigin: "v1_import", projectId: matching.id, runs: 1, linkOrigin: null });
  expect(items.slice(0, 4).map((item: Loose) => [item.text, item.ordinal])).toEqual(messages.map(({ text }) => [text, 0]));
  const { transfers } = await onBox.use("t3_thread_transfers", { threadId });
  const { contents } = await onBox.readResource({ uri: `ropewalk://handoff/${transfers[0].handoffId}` });
  expect((contents[0] as { text: string }).text.startsWith(header)).toBe(true);

  const before = await counts(box, onBox, threadId);
  const same = { threadId, runId, created: false, continuation: "already" };
  expect(await onBox.use("t3_thread_import", handedOver)).toMatchObject(same);
  const another = await (await OutsideAgent.pairedWith(box, "another ferry")).at(box);
  expect(await another.use("t3_thread_import", handedOver)).toMatchObject(same);
  expect(await onBox.refused("t3_thread_import", { ...handedOver, messages: messages.slice(1) })).toMatchObject({
    code: "idempotency_conflict",
  });
  // The box loses power; what was given to the agent is good, and so is what the box knows of the import.
  await box.end("SIGKILL");
  await box.start();
  const later = await there.at(box);
  expect(await later.use("t3_thread_import", handedOver)).toMatchObject(same);
  expect(await counts(box, later, threadId)).toEqual(before);

  const second = await later.use("t3_thread_import", { ...handedOver, handoffId: "to-the-box-again" });
  expect(second).toMatchObject({ created: true, continuation: "started" });
  expect(second.threadId).not.toBe(threadId);
  expect(await later.use("t3_thread_wait", { threadId: second.threadId, runId: second.runId, waitSeconds: 20 })).toMatchObject({
    answer: codeword,
  });
  expect((await counts(box, later, threadId)).threads).toBe(before.threads + 1);
}, 120_000);

test("what comes to the box over the link carries the laptop's stamp, and so does what is made of it; the agent's own does not", async () => {
  const { laptop, box } = await twoEnvironments();
  const [here, there] = await Promise.all([OutsideAgent.pairedWith(laptop, "ferry"), OutsideAgent.pairedWith(box, "ferry")]);
  const [onLaptop, onBox] = await Promise.all([here.at(laptop), there.at(box)]);
  const link = async () => (await onLaptop.use<Loose>("t3_environment_links")).links[0];
  await expect.poll(link, { timeout: 15_000 }).toMatchObject({ environmentId: box.id, name: "box", status: "online" });

  const { threadId: parentThreadId, runId } = await onLaptop.use("t3_thread_launch", {
    prompt: `The codeword of this release is ${codeword}. Repeat it. One line.`,
    clientRequestId: "say-it",
  });
  await onLaptop.use("t3_thread_wait", { threadId: parentThreadId, runId, waitSeconds: 20 });
  const task = {
    parentThreadId,
    prompt: "Report, in one line, that the boat has 42 planks.",
    environmentId: box.id,
    clientRequestId: "planks",
  };
  const { taskId } = await onLaptop.use("delegate_task", task);
  expect(await onLaptop.use("task_status", { taskId, waitSeconds: 20 })).toMatchObject({
    tasks: [{ status: "completed", environmentId: box.id, result: "The boat has 42 planks." }],
  });
  // What a person sends on over the link; the agent on the box finds it there.
  await laptop.cli("import", "--to", "box", "--thread", parentThreadId, "--handoff", "by-link", "--prompt", ask, "--wait");

  const { threads } = await onBox.use<Loose>("t3_thread_list");
  const stamp = { environmentId: laptop.id, linkId: expect.stringMatching(/^link:/) };
  expect(threads.map((thread: Loose) => [thread.historyOrigin, thread.linkOrigin])).toEqual([
    ["v1_import", stamp],
    ["native", stamp],
  ]);
  const forked = await onBox.use("t3_thread_fork", { threadId: threads[0].threadId, clientRequestId: "fork" });
  const own = await onBox.use("t3_thread_launch", { prompt: "Hello.", clientRequestId: "own" });
  const originOf = async (threadId: ThreadId) => (await onBox.use<Loose>("t3_thread_read", { threadId })).thread.linkOrigin;
  expect(await originOf(forked.threadId)).toEqual(stamp);
  expect(await originOf(own.threadId)).toBeNull();
}, 120_000);
