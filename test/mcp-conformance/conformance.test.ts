import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ServeOptions } from "../../services/serving.ts";
import { bearerRelay } from "../support/bearer-relay.ts";
import { conformanceScenarios, type Outcome, runConformance } from "../support/conformance.ts";
import { openDoor } from "../support/door.ts";
import { OAuthProgram } from "../support/oauth-program.ts";
import { suiteFixtures } from "./fixtures.ts";

type Row = { scenario: string; product: string; fixtures: string };

/** The table of docs/conformance.md, as a reader has it. */
const table: Row[] = [
  ...readFileSync(new URL("../../docs/conformance.md", import.meta.url), "utf8").matchAll(/^\| `([\w-]+)` \| (\w+) \| (\w+) \| \S.*\|$/gm),
].map(([, scenario = "", product = "", fixtures = ""]) => ({ scenario, product, fixtures }));

function word({ failed, warned }: Outcome): string {
  if (failed.length > 0) return "fails";
  return warned.length > 0 ? "warns" : "passes";
}

/** What became of each scenario, and what the suite said of those that are not as the table says. */
function compare(outcomes: Outcome[], column: "product" | "fixtures") {
  const seen = outcomes.map((outcome) => [outcome.scenario, word(outcome)]).sort();
  const expected = table.map((row) => [row.scenario, row[column]]).sort();
  const words = new Map(table.map((row) => [row.scenario, row[column]]));
  const said = outcomes.filter((outcome) => words.get(outcome.scenario) !== word(outcome)).map((outcome) => outcome.said);
  expect(seen, said.join("\n")).toEqual(expected);
}

test("the table names every server scenario of the suite once", async () => {
  expect(table.map(({ scenario }) => scenario).sort()).toEqual((await conformanceScenarios()).sort());
});

/** What becomes of the scenarios at the network door, through a relay that adds the token that a pairing code gave. */
async function outcomesAtTheDoor(serve: ServeOptions = {}): Promise<Outcome[]> {
  const { mcpUrl, pair, errors } = await openDoor({}, serve);
  const { code } = await pair();
  const port = await bearerRelay(new URL(mcpUrl), await new OAuthProgram().pair(mcpUrl, code));
  const outcomes = await runConformance(`http://127.0.0.1:${port}/mcp`);
  expect(errors).toEqual([]);
  return outcomes;
}

test("ropewalk passes the scenarios that the table says it passes, and no other", async () => {
  compare(await outcomesAtTheDoor(), "product");
});

test("with the suite's own fixtures offered at the same door, it passes the others too", async () => {
  compare(await outcomesAtTheDoor({ offer: suiteFixtures }), "fixtures");
});
