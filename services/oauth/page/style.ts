import { createHash } from "node:crypto";

/** All the style that the pages have. It stands in the page, named by its digest in the policy; nothing is fetched. */
export const style = `
:root{color-scheme:light dark;--ground:#f5f5f2;--card:#fff;--text:#1d1d1b;--dim:#5c5c57;--line:#8c8c85;--act:#1f5f3f;--on-act:#fff;--bad:#a11616}
@media(prefers-color-scheme:dark){:root{--ground:#161614;--card:#21211f;--text:#eeeee9;--dim:#b3b3ac;--line:#7d7d76;--act:#7fd1a5;--on-act:#10261b;--bad:#ff9a8f}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:34rem;margin:0 auto;padding:1.25rem;min-height:100vh;background:var(--card)}
@media(min-width:40rem){main{margin:3rem auto;min-height:0;padding:2rem;border-radius:.75rem}}
h1{font-size:1.4rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1rem;margin:1.25rem 0 .25rem}
p{margin:.5rem 0}
ul{margin:.25rem 0;padding-left:1.25rem}
.dim{color:var(--dim)}
.bad{color:var(--bad);font-weight:600}
label{display:block;font-weight:600;margin:1.25rem 0 .25rem}
input{width:100%;font:1.25rem/1.5 ui-monospace,monospace;letter-spacing:.08em;padding:.5rem .75rem;border:1px solid var(--line);border-radius:.5rem;background:var(--card);color:var(--text)}
.acts{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.25rem}
button{flex:1 1 8rem;min-height:2.75rem;font:inherit;font-weight:600;padding:.5rem 1rem;border:1px solid var(--line);border-radius:.5rem;background:transparent;color:var(--text);cursor:pointer}
button.act{background:var(--act);border-color:var(--act);color:var(--on-act)}
:focus-visible{outline:3px solid var(--act);outline-offset:2px}
code{font-family:ui-monospace,monospace}
`;

const styleDigest = createHash("sha256").update(style).digest("base64");

/** What a page may do: show itself with its own style, and send its form here and where the answer goes. */
export function pagePolicy(formEndsAt: string | null): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${styleDigest}'`,
    `form-action 'self'${formEndsAt === null ? "" : ` ${formEndsAt}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
}
