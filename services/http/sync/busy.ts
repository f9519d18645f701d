import { refusal } from "../../../schemas/refusal.ts";
import { HttpRefusal } from "../statuses.ts";

/** More was written in each try than a patch holds. */
export const busy = () =>
  new HttpRefusal(refusal("orchestration_error", "busy", "more is written than can be read beside it", "Ask again in a moment."));
