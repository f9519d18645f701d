import { killAtEveryBoundary } from "./suite.ts";

await killAtEveryBoundary("box");
