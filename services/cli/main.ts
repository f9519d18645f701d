import { Command } from "commander";
import { packageVersion } from "./version.ts";

const program = new Command("ropewalk").version(packageVersion());

await program.parseAsync();
