/** `count` messages of `bytes` each, user and assistant in turn, under a handoff id of their own. */
export function importRequest(handoffId: string, count: number, bytes: number) {
  const sentence = "What was asked was looked at from every side, and this is what came of it in the end. ";
  const text = sentence.repeat(Math.ceil(bytes / sentence.length)).slice(0, bytes);
  return {
    sourceEnvironmentId: "elsewhere",
    sourceThreadId: "thread:source",
    handoffId,
    messages: Array.from({ length: count }, (_, i) => ({
      role: i % 2 === 0 ? ("user" as const) : ("assistant" as const),
      text: `${i} ${text}`.slice(0, bytes),
    })),
  };
}
