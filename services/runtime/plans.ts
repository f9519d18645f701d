import type { CommandType } from "../../schemas/command.ts";
import { effectsClosed, effectsStarted } from "./commands/effects.ts";
import { forgetLink, revokeLink } from "./commands/link-end.ts";
import { importOverLink, importThreadTo } from "./commands/link-import.ts";
import { peerPositions } from "./commands/link-positions.ts";
import { receiveOverLink } from "./commands/link-receive.ts";
import { rejoinLink } from "./commands/link-rejoin.ts";
import { configureLink, linkDiverged, linkReceipt, linkTransportState } from "./commands/link-state.ts";
import { departMove, moveUnfit } from "./commands/move-depart.ts";
import { addProject } from "./commands/project-add.ts";
import { configureProject } from "./commands/project-configure.ts";
import { relocateEnvironment } from "./commands/relocate.ts";
import { answerRequest } from "./commands/run-answer.ts";
import { runEnded } from "./commands/run-ended.ts";
import { claimForRun, runPlaced, runPrepared, runUnprepared } from "./commands/run-prepare.ts";
import { requestClosed, requestOpened, runAccepted, runItems } from "./commands/run-progress.ts";
import { cancelTaskByCommand, dismissTask } from "./commands/task-end.ts";
import { spawnTask } from "./commands/task-spawn.ts";
import { adoptThread } from "./commands/thread-adopt.ts";
import { createThread } from "./commands/thread-create.ts";
import { deleteThread } from "./commands/thread-delete.ts";
import { markThread, renameThread, setThreadModes } from "./commands/thread-edit.ts";
import { forkThread } from "./commands/thread-fork.ts";
import { forwardThread } from "./commands/thread-forward.ts";
import { importThread } from "./commands/thread-import.ts";
import { importBundle } from "./commands/thread-import-bundle.ts";
import { interruptThread } from "./commands/thread-interrupt.ts";
import { launchThread } from "./commands/thread-launch.ts";
import { mergeBack } from "./commands/thread-merge-back.ts";
import { cancelMove, moveThread } from "./commands/thread-move.ts";
import { purgeThread, textPurged, threadEmptied } from "./commands/thread-purge.ts";
import { sendMessage } from "./commands/thread-send.ts";
import { switchProvider } from "./commands/thread-switch.ts";
import { filesRestored, redoThread, undoThread } from "./commands/thread-undo.ts";
import { wakeThread } from "./commands/thread-wake.ts";
import type { Plan } from "./plan.ts";

/** What decides each command. */
export const plans: { [T in CommandType]: Plan<T> } = {
  "project.add": addProject,
  "project.configure": configureProject,
  "thread.create": createThread,
  "thread.launch": launchThread,
  "thread.send": sendMessage,
  "thread.fork": forkThread,
  "thread.switch": switchProvider,
  "thread.merge_back": mergeBack,
  "thread.import": importThread,
  "thread.import_bundle": importBundle,
  "thread.import_to": importThreadTo,
  "link.import": importOverLink,
  "thread.move": moveThread,
  "thread.move_cancel": cancelMove,
  "thread.interrupt": interruptThread,
  "thread.rename": renameThread,
  "thread.set_modes": setThreadModes,
  "thread.mark": markThread,
  "thread.undo": undoThread,
  "thread.redo": redoThread,
  "thread.delete": deleteThread,
  "thread.purge": purgeThread,
  "thread.emptied": threadEmptied,
  "thread.text_purged": textPurged,
  "thread.adopt": adoptThread,
  "run.answer": answerRequest,
  "task.spawn": spawnTask,
  "task.cancel": cancelTaskByCommand,
  "task.dismiss": dismissTask,
  "link.revoke": revokeLink,
  "link.forget": forgetLink,
  "link.rejoin": rejoinLink,
  "run.claim": claimForRun,
  "run.prepared": runPrepared,
  "run.unprepared": runUnprepared,
  "run.placed": runPlaced,
  "environment.relocated": relocateEnvironment,
  "thread.files_restored": filesRestored,
  "run.accepted": runAccepted,
  "run.items": runItems,
  "run.request_opened": requestOpened,
  "run.request_closed": requestClosed,
  "run.ended": runEnded,
  "thread.wake": wakeThread,
  "thread.forward": forwardThread,
  "move.unfit": moveUnfit,
  "move.depart": departMove,
  "effects.started": effectsStarted,
  "effects.closed": effectsClosed,
  "link.configure": configureLink,
  "link.state": linkTransportState,
  "link.diverged": linkDiverged,
  "link.receive": receiveOverLink,
  "link.receipt": linkReceipt,
  "link.peer_positions": peerPositions,
};
