import { z } from "zod";
import { ProviderCapabilities } from "../../../schemas/provider.ts";
import { RefusalCode } from "../../../schemas/refusal.ts";
import { Text } from "../../../schemas/text.ts";

/**
 * The script of a scripted provider (decision 45): JSON that says what the provider can do and how it answers. The first
 * rule that matches an input is played; without one the provider answers `ok: ` and the start of the message.
 *
 * Strings in steps may hold `$1`…`$9` (groups of the rule's `regex`), `$&` (its whole match), `$answer` (what the last
 * approval or question was answered) and `$$` (a dollar sign).
 */
const Pattern = Text.superRefine((source, issue) => {
  try {
    new RegExp(source);
  } catch (cause) {
    issue.addIssue({ code: "custom", message: `not a regular expression: ${(cause as Error).message}` });
  }
});
const Milliseconds = z.number().int().nonnegative();
/** `true`: every time. A number: that many times in the life of the process, then no more. */
const Times = z.union([z.boolean(), z.number().int().nonnegative()]);
const Failure = {
  code: RefusalCode.optional(),
  reason: z
    .string()
    .regex(/^[a-z0-9_]+$/, "lower-case letters, digits and '_'")
    .optional(),
  message: Text,
};
const Options = z.array(Text.min(1)).min(1).optional();

/** Every condition that is given must hold; none at all matches every input. */
const Match = z.strictObject({
  /** The message holds this text. */
  contains: Text.optional(),
  /** The message matches. */
  regex: Pattern.optional(),
  /** It is this turn of the native conversation, counted from 1 with what a fork inherited. */
  turn: z.number().int().positive().optional(),
  /** One of the handoffs that came with the message holds this text. */
  told: Text.optional(),
});

/** One step. Exactly one of {@link stepKinds} names what it does; the other keys qualify it. */
export const Step = z.strictObject({
  /** Completes an assistant message: the deltas before it and this text. */
  text: Text.optional(),
  /** Streams a piece of the assistant message. */
  delta: Text.optional(),
  /** Answers with the first match in all that the native conversation knows, else `I do not know`. */
  recall: Pattern.optional(),
  reasoning: Text.optional(),
  plan: Text.optional(),
  tool: z.strictObject({ name: Text, arguments: z.json().optional(), result: z.json().optional(), ok: z.boolean().optional() }).optional(),
  command: z
    .strictObject({ command: Text, output: Text.optional(), exitCode: z.number().int().nullable().optional(), cwd: Text.optional() })
    .optional(),
  /** Reports a changed file. With `content` the file is really written, inside the thread's folder only. */
  fileChange: z
    .strictObject({
      path: Text.min(1),
      change: z.enum(["add", "update", "delete", "rename"]).optional(),
      diff: Text.optional(),
      content: Text.optional(),
    })
    .optional(),
  approval: z
    .strictObject({ text: Text, question: z.enum(["command", "file_change", "permission"]).optional(), options: Options })
    .optional(),
  /** A question that takes any answer, or one of `options` where they are given. */
  ask: z.strictObject({ text: Text, options: Options }).optional(),
  /** Waits; an interrupt ends it. */
  delay: Milliseconds.optional(),
  /** Waits until it is interrupted. */
  hang: z.literal(true).optional(),
  /** Fails the turn, or refuses the input when `when` is `before_accept`. */
  fail: z.strictObject({ when: z.literal("before_accept").optional(), ...Failure }).optional(),
  /** The provider's process dies. */
  crash: z.literal(true).optional(),
  /** Accepts the input only after this long. */
  acceptAfterMs: Milliseconds.optional(),
  /** Accepts the input (it is recorded), but says so only after this long. */
  holdAcceptMs: Milliseconds.optional(),
  /** With `delay` and `hang`: an interrupt does not end the wait. */
  ignoreInterrupt: z.boolean().optional(),
  get onAccept() {
    return z.array(Step).optional();
  },
  get onDecline() {
    return z.array(Step).optional();
  },
});
export type Step = z.infer<typeof Step>;

const stepKinds = [
  ...["text", "delta", "recall", "reasoning", "plan", "tool", "command", "fileChange", "approval", "ask"],
  ...["delay", "hang", "fail", "crash", "acceptAfterMs", "holdAcceptMs"],
] as (keyof Step)[];

/** True for steps that are played before the input counts as accepted. They come first. */
export function isBeforeAcceptance(step: Step): boolean {
  return step.acceptAfterMs !== undefined || step.holdAcceptMs !== undefined || step.fail?.when === "before_accept";
}

function checkSteps(steps: Step[], path: PropertyKey[], nested: boolean, report: (path: PropertyKey[], message: string) => void): void {
  let accepted = nested;
  steps.forEach((step, index) => {
    const here = [...path, index];
    const kinds = stepKinds.filter((kind) => step[kind] !== undefined);
    if (kinds.length !== 1) report(here, `a step has exactly one of ${stepKinds.join(", ")}; this has ${kinds.join(", ") || "none"}`);
    if (isBeforeAcceptance(step) && accepted) report(here, "what happens before the input is accepted comes before all other steps");
    accepted ||= !isBeforeAcceptance(step);
    for (const branch of ["onAccept", "onDecline"] as const) {
      if (step[branch] === undefined) continue;
      if (step.approval === undefined) report([...here, branch], "belongs to an approval");
      checkSteps(step[branch], [...here, branch], true, report);
    }
    if (step.ignoreInterrupt !== undefined && step.delay === undefined && step.hang === undefined) {
      report([...here, "ignoreInterrupt"], "belongs to a delay or a hang");
    }
  });
}

const Rule = z
  .strictObject({
    match: Match,
    steps: z.array(Step),
    /** How often the rule may be played in the life of the process; then it is passed over. */
    times: z.number().int().positive().optional(),
    /** The whole turn goes on as if nobody had asked it to end. */
    ignoreInterrupt: z.boolean().optional(),
  })
  .superRefine((rule, issue) => {
    checkSteps(rule.steps, ["steps"], false, (path, message) => issue.addIssue({ code: "custom", path, message }));
  });
export type Rule = z.infer<typeof Rule>;

export const Script = z.strictObject({
  capabilities: z
    .strictObject({
      ...ProviderCapabilities.shape,
      identity: ProviderCapabilities.shape.identity.partial(),
      /** Forks are declared as the other keys say, and refused when one is asked for (case F05). */
      refuseFork: z.boolean(),
      /** The same for taking a conversation back in place. */
      refuseRewind: z.boolean(),
    })
    .partial()
    .optional(),
  rules: z.array(Rule).optional(),
  /** Every open takes this long. */
  openDelayMs: Milliseconds.optional(),
  /** An open never ends by itself. */
  openHang: Times.optional(),
  openFail: z.strictObject({ ...Failure, times: z.number().int().positive().optional() }).optional(),
  detachFail: Times.optional(),
  /** `unknown`: the provider cannot say what became of an input. */
  lookup: z.enum(["exact", "unknown"]).optional(),
});
export type Script = z.infer<typeof Script>;
