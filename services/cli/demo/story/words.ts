/** The words of the story, for one telling: two names that occur nowhere else, so that finding one proves where it came from. */
export type Words = ReturnType<typeof wordsWith>;

/** `mark`: four hexadecimal digits, new for each telling. */
export function wordsWith(mark: string) {
  const codeword = `KINGFISHER-${mark.toUpperCase()}`;
  const finding = `heron-${mark.toLowerCase()}`;
  return {
    codeword,
    finding,
    report: "42 planks",
    title: "Release plan",
    begin: `The codeword of this release is ${codeword}. Repeat it. One line.`,
    risks: "Name two risks of the release, one line each.",
    forkTitle: "A closer look at the first risk",
    recallInFork: "What is the codeword of the release? One line.",
    takeOver: "You take over from here. What is the codeword of the release? One line.",
    explore: `Explore the first risk; call what you find ${finding}. One line.`,
    merged: "What was found in the fork? Name it, in one line.",
    continuation: "We go on here. What is the codeword of the release? One line.",
    goOn: "And what was found in the fork? Name it, in one line.",
    taskTitle: "Count the planks",
    task: "Report, in one line, that the boat has 42 planks.",
    reported: "How many planks did the subagent report? One line.",
  };
}

/** The script of the scripted providers: answers that can only be right when the conversation really is where it should be. */
export const script = {
  rules: [
    { match: { regex: "codeword of this release is (\\S+)\\." }, steps: [{ reasoning: "A name to keep." }, { text: "$1" }] },
    {
      match: { contains: "Name two risks" },
      steps: [{ delta: "1. An upload is retried without end.\n" }, { delta: "2. The old client reads the new file." }],
    },
    { match: { contains: "What is the codeword" }, steps: [{ recall: "KINGFISHER-[0-9A-F]{4}" }] },
    {
      match: { regex: "call what you find (\\S+)\\." },
      steps: [{ command: { command: "grep -rn retry src", output: "src/upload.ts:12: retry()", exitCode: 0 } }, { text: "Found: $1" }],
    },
    { match: { contains: "was found in the fork" }, steps: [{ recall: "heron-[0-9a-f]{4}" }] },
    { match: { contains: "the boat has" }, steps: [{ text: "The boat has 42 planks." }] },
    { match: { contains: "did the subagent report" }, steps: [{ recall: "[0-9]+ planks" }] },
  ],
};
