import type { Context } from "hono";
import { html } from "hono/html";
import type { ClientGrant } from "../../../schemas/client.ts";
import { broadestModes } from "../../../schemas/modes.ts";
import type { AuthorizationRequest } from "../authorization-request.ts";
import { retryAfter } from "../errors.ts";
import { oauthLimits } from "../limits.ts";
import { policySource, whereTo } from "../redirect-uri.ts";
import { type PageOptions, type Piece, page } from "./layout.ts";
import { accessWords, interactionWords, runtimeWords } from "./words.ts";

type Asked = { request: AuthorizationRequest; environmentName: string };
type Given = Omit<ClientGrant, "name">;

/** The first page: who asks, and for what; a person types the code here. `wrong`: what was wrong with the last one. */
export function askPage(c: Context, { request, environmentName }: Asked, wrong?: string): Promise<Response> {
  const told = wrong === undefined ? "" : html`<p class="bad" role="alert" id="wrong">${wrong}</p>`;
  return formPage(c, request, {
    status: wrong === undefined ? 200 : 403,
    title: `Let a program into “${environmentName}”?`,
    body: html`${who(request)}
<h2>It asks to</h2>
${wished(request)}
<form method="post">
<label for="code">Code</label>
<input id="code" name="code" type="text" required autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="40" aria-describedby="${wrong === undefined ? "hint" : "wrong hint"}"${wrong === undefined ? "" : html` aria-invalid="true"`}>
<p class="dim" id="hint">On the machine of the environment, run <code>ropewalk client add</code> and type the code that it prints. Nothing is given before you have seen what the code gives.</p>
${told}
<div class="acts">
<button class="act" name="decision" value="look">Continue</button>
<button name="decision" value="deny" formnovalidate>Deny</button>
</div>
</form>`,
  });
}

function wished({ wish: { access, runtimeMode, interactionMode } }: AuthorizationRequest): Piece {
  const wishes = [
    ...(access ?? []).map((kind) => accessWords[kind]),
    ...(runtimeMode === null ? [] : [`have agents of which at most this holds: ${runtimeWords[runtimeMode]}`]),
    ...(interactionMode === null ? [] : [`have agents of which at most this holds: ${interactionWords[interactionMode]}`]),
  ];
  if (wishes.length === 0) return html`<p>do whatever the code gives.</p>`;
  return html`<ul>${wishes.map((wish) => html`<li>${wish}</li>`)}</ul>`;
}

/** The second page: what the code and the request come to. */
export function grantPage(c: Context, { request, environmentName }: Asked, given: Given, code: string): Promise<Response> {
  const { access, maxModes } = given;
  const days = oauthLimits.tokenMs / 86_400_000;
  const isBroad = maxModes.runtimeMode === broadestModes.runtimeMode;
  return formPage(c, request, {
    status: 200,
    title: `Let it into “${environmentName}”?`,
    body: html`${who(request)}
<h2>It will be able to</h2>
<ul>${access.map((kind) => html`<li>${accessWords[kind]}</li>`)}</ul>
<h2>Within these modes</h2>
<ul>
<li${isBroad ? html` class="bad"` : ""}><code>${maxModes.runtimeMode}</code>: ${runtimeWords[maxModes.runtimeMode]}</li>
<li><code>${maxModes.interactionMode}</code>: ${interactionWords[maxModes.interactionMode]}</li>
</ul>
<p class="dim">For ${days} days, or until you take it back: <code>ropewalk client revoke</code>.</p>
<form method="post">
<input type="hidden" name="code" value="${code}">
<div class="acts">
<button class="act" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</div>
</form>`,
  });
}

/** Nobody is sent anywhere; the person is told why. */
export function refusedPage(c: Context, why: string, status: PageOptions["status"] = 400): Promise<Response> {
  return page(c, { status, title: "This cannot go on", body: html`<p>${why}</p><p class="dim">You can close this page.</p>` });
}

/** Too many wrong codes came in. */
export function waitPage(c: Context, waitMs: number): Promise<Response> {
  const minutes = Math.ceil(waitMs / 60_000);
  return page(c, {
    status: 429,
    title: "Too many wrong codes",
    body: html`<p role="alert">No code is taken now. Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}, with a fresh code.</p>`,
    headers: { "retry-after": retryAfter(waitMs) },
  });
}

function formPage(c: Context, { redirectUri }: AuthorizationRequest, options: PageOptions): Promise<Response> {
  return page(c, { ...options, formEndsAt: policySource(redirectUri) });
}

function who({ client, redirectUri }: AuthorizationRequest): Piece {
  return html`<p><strong>${client.program}</strong> <span class="dim">(its own words; nobody has checked them)</span></p>
<p>Your answer goes to <strong>${whereTo(redirectUri)}</strong>.</p>
<p class="dim">Go on only if you have just told that program to connect.</p>`;
}
