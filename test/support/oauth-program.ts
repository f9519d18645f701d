import {
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { type Fetch, openPage, type Page } from "./browser.ts";

type ClientInformation = Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;

export type ProgramOptions = {
  name?: string;
  redirectUrl?: string;
  scope?: string;
  /** Asks for a token that is good for the API too, and not for the tools alone. */
  everywhere?: boolean;
  /** How it reaches the environment, e.g. past a certificate of a test's own. */
  fetch?: Fetch;
};

/**
 * A program that knows an environment's MCP address and nothing else: it registers, asks, and fetches its token by the
 * official client's own OAuth. The page is opened by the test, in the place of a person.
 */
export class OAuthProgram implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly #fetch: Fetch;
  readonly validateResourceURL?: () => Promise<undefined>;
  information: ClientInformation;
  given: OAuthTokens | undefined;
  #verifier = "";
  #asked: URL | null = null;
  readonly #state = crypto.randomUUID();
  #discovered: OAuthDiscoveryState | undefined;

  constructor({
    name = "A test program",
    redirectUrl = "http://127.0.0.1:7777/callback",
    scope,
    everywhere = false,
    fetch: own = fetch,
  }: ProgramOptions = {}) {
    if (everywhere) this.validateResourceURL = async () => undefined;
    this.redirectUrl = redirectUrl;
    this.#fetch = own;
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(scope !== undefined && { scope }),
    };
  }

  state = () => this.#state;
  clientInformation = () => this.information;
  saveClientInformation(information: NonNullable<ClientInformation>): void {
    this.information = information;
  }
  tokens = () => this.given as never;
  saveTokens(tokens: OAuthTokens): void {
    this.given = tokens;
  }
  redirectToAuthorization(url: URL): void {
    this.#asked = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier = () => this.#verifier;
  discoveryState = () => this.#discovered;
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  transport(mcpUrl: string | URL): StreamableHTTPClientTransport {
    return new StreamableHTTPClientTransport(new URL(mcpUrl), { authProvider: this, fetch: this.#fetch as never });
  }

  /** Comes to the door for the first time, and is sent to the page: its address. */
  async ask(mcpUrl: string | URL): Promise<URL> {
    this.#asked = null;
    const transport = this.transport(mcpUrl);
    await transport.start();
    try {
      await transport.send({ jsonrpc: "2.0", id: 1, method: "ping" });
    } catch (error) {
      if (!UnauthorizedError.isInstance(error)) throw error;
    } finally {
      await transport.close();
    }
    if (this.#asked === null) throw new Error("it was let in without asking");
    return this.#asked;
  }

  /** What the person does on the page: types the code, looks, allows. Where the browser is sent then. */
  async approve(page: URL, code: string): Promise<URL> {
    const look = await (await openPage(page, this.#fetch)).press("Continue", { code });
    const done = await look.press("Allow");
    if (done.location === null) throw new Error(`it was not approved: ${done.status} ${done.text}`);
    return new URL(done.location);
  }

  /** Fetches the token, after the person's browser was sent back. */
  async finish(mcpUrl: string | URL, sentBack: URL): Promise<string> {
    if (sentBack.searchParams.get("state") !== this.#state) throw new Error("the state is another");
    const transport = this.transport(mcpUrl);
    await transport.finishAuth(sentBack.searchParams);
    if (this.given === undefined) throw new Error("no token came");
    return this.given.access_token;
  }

  /** All of it: from the address and a code to a token. */
  async pair(mcpUrl: string | URL, code: string): Promise<string> {
    return this.finish(mcpUrl, await this.approve(await this.ask(mcpUrl), code));
  }

  /** The page as it stands after it was asked. */
  async page(mcpUrl: string | URL): Promise<Page> {
    return openPage(await this.ask(mcpUrl), this.#fetch);
  }
}
