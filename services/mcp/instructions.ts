/** What a model is told once about all of the tools. */
export const instructions = [
  "Conversations (threads) of coding agents in one ropewalk environment: read them, fork them, send to them, delegate tasks.",
  "Whatever changes something takes clientRequestId: a new value for each new action; the same value again does nothing and returns the first answer (repeated: true).",
  "Calls return at once; wait with t3_thread_wait or task_status. Ending a wait never stops the work.",
  "A refusal is {error: {code, reason, message, hint}}: do what the hint says. orchestrator_capabilities tells what you may.",
].join("\n");
