import { createHash, randomBytes } from "node:crypto";
import type { PairingRequest } from "../../../schemas/client.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import { openPage, type Page } from "../../support/browser.ts";
import { type Door, openDoor } from "../../support/door.ts";

type Fields = Record<string, string | undefined>;
type Answer = { status: number; headers: Headers; body: Record<string, unknown> };

export const redirectUri = "http://127.0.0.1:7777/callback";

/** A program whose every step is in the test's hands, beside an environment whose time is. */
export type ByHand = Door & {
  clock: MemoryClock;
  register(metadata?: object): Promise<Answer>;
  clientId: string;
  /** The address of the page; a member that is undefined is left out. */
  address(changes?: Fields, more?: [string, string][]): URL;
  page(changes?: Fields, more?: [string, string][]): Promise<Page>;
  /** Pairs, types, looks, allows: the code that the program is sent. */
  approved(request?: PairingRequest, changes?: Fields): Promise<string>;
  /** Fetches a token; members replace those of the right request. */
  token(code: string, changes?: Fields): Promise<Answer>;
  post(path: string, fields: Fields): Promise<Answer>;
  /** What the API says to a token: its status. */
  reads(token: unknown, path?: string): Promise<number>;
};

export async function byHand(): Promise<ByHand> {
  const clock = new MemoryClock(Date.now());
  const door = await openDoor({}, { clock });
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");

  const asAnswer = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
  };
  const register = async (metadata: object = {}) =>
    asAnswer(
      await fetch(`${door.url}/oauth/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ client_name: "By hand", redirect_uris: [redirectUri], ...metadata }),
      }),
    );
  const fields = (given: Fields) =>
    Object.entries(given).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  const clientId = String((await register()).body.client_id);
  const asked = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state: "the state",
    code_challenge: challenge,
    code_challenge_method: "S256",
  };
  const address = (changes: Fields = {}, more: [string, string][] = []) =>
    new URL(`${door.url}/oauth/authorize?${new URLSearchParams([...fields({ ...asked, ...changes }), ...more])}`);
  const post = async (path: string, given: Fields) =>
    asAnswer(await fetch(`${door.url}${path}`, { method: "POST", body: new URLSearchParams(fields(given)) }));
  const page = (changes?: Fields, more?: [string, string][]) => openPage(address(changes, more));
  return {
    ...door,
    clock,
    register,
    clientId,
    address,
    page,
    post,
    async approved(request, changes) {
      const { code } = await door.pair(request);
      const sent = await (await (await page(changes)).press("Continue", { code })).press("Allow");
      return new URL(sent.location ?? "").searchParams.get("code") ?? "";
    },
    token: (code, changes = {}) =>
      post("/oauth/token", {
        grant_type: "authorization_code",
        code,
        client_id: clientId,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        ...changes,
      }),
    async reads(token, path = "/v1/threads") {
      const response = await fetch(`${door.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      await response.body?.cancel();
      return response.status;
    },
  };
}
