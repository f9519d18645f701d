import type { Modes } from "../../../schemas/modes.ts";
import { failure } from "./failure.ts";
import type { OpenedThread } from "./protocol.ts";

const approvals = ["untrusted", "on-request", "never"] as const;
const sandboxes = ["read-only", "workspace-write", "danger-full-access"] as const;
export type Policy = { approvalPolicy: (typeof approvals)[number]; sandbox: (typeof sandboxes)[number] };

/**
 * Our modes in Codex's words. `untrusted` asks before every command and change; in a read-only sandbox an accepted command
 * still could not write, so `approval-required` has a writable workspace. `on-request` asks before leaving the sandbox,
 * `never` does not and cannot leave it. In plan mode nothing is written.
 */
export function policyOf({ runtimeMode, interactionMode }: Modes): Policy {
  const asks = runtimeMode === "approval-required";
  if (interactionMode === "plan") return { approvalPolicy: asks ? "untrusted" : "never", sandbox: "read-only" };
  if (asks) return { approvalPolicy: "untrusted", sandbox: "workspace-write" };
  if (runtimeMode === "auto-accept-edits") return { approvalPolicy: "on-request", sandbox: "workspace-write" };
  if (runtimeMode === "auto") return { approvalPolicy: "never", sandbox: "workspace-write" };
  return { approvalPolicy: "never", sandbox: "danger-full-access" };
}

const typeOfSandbox: Record<string, Policy["sandbox"]> = {
  readOnly: "read-only",
  workspaceWrite: "workspace-write",
  dangerFullAccess: "danger-full-access",
  externalSandbox: "danger-full-access",
};

/**
 * A thread that is loaded already keeps the policy that it was opened with and ignores the one of a resume. So the answer is
 * looked at: a run never works with more than its modes allow.
 * @throws ProviderFailure `orchestration_error`, reason `modes_not_honoured`.
 */
export function requirePolicy(wanted: Policy, opened: OpenedThread): void {
  const sandbox = typeOfSandbox[opened.sandbox?.type ?? ""];
  const approval = approvals.indexOf(opened.approvalPolicy as Policy["approvalPolicy"]);
  // A policy of the user's own making (`granular`) is known to neither rank; it can only have come from a managed requirement.
  const looserApproval = approval > approvals.indexOf(wanted.approvalPolicy);
  const looserSandbox = sandbox !== undefined && sandboxes.indexOf(sandbox) > sandboxes.indexOf(wanted.sandbox);
  if (!looserApproval && !looserSandbox) return;
  throw failure(
    "modes_not_honoured",
    `Codex opened the conversation with ${JSON.stringify(opened.approvalPolicy)} and ${sandbox}, which is more than ${wanted.approvalPolicy} and ${wanted.sandbox}.`,
    "Close this conversation elsewhere, then send again.",
    { code: "orchestration_error" },
  );
}
