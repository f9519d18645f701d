/** What a page shows, as far as a test that posts its form needs it. */
export type Page = {
  status: number;
  headers: Headers;
  text: string;
  /** Where the browser is sent, when it is. */
  location: string | null;
  /** Posts the page's form by one of its buttons, with what is typed into its fields. */
  press(button: string, typed?: Record<string, string>): Promise<Page>;
};

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Opens a page as a browser would: redirects are told and not followed, and a form is sent with the page's own Origin. */
export async function openPage(url: string | URL, fetchPage: Fetch = fetch): Promise<Page> {
  return asPage(new URL(url), await fetchPage(url, { redirect: "manual", headers: { accept: "text/html" } }), fetchPage);
}

async function asPage(url: URL, response: Response, fetchPage: Fetch): Promise<Page> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    location: response.headers.get("location"),
    async press(button, typed = {}) {
      const form = /<form method="post">([\s\S]*?)<\/form>/.exec(text)?.[1];
      if (form === undefined) throw new Error(`the page has no form: ${text}`);
      const fields = [...form.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag);
      const values = new URLSearchParams();
      for (const tag of fields) {
        const name = attribute(tag, "name") ?? "";
        values.set(name, typed[name] ?? attribute(tag, "value") ?? "");
      }
      const pressed = [...form.matchAll(/<button\b[^>]*>[^<]*<\/button>/g)]
        .map(([tag]) => tag)
        .find((tag) => tag.endsWith(`>${button}</button>`));
      if (pressed === undefined) throw new Error(`the page has no button ${button}: ${form}`);
      values.set(attribute(pressed, "name") ?? "", attribute(pressed, "value") ?? "");
      const headers = { origin: url.origin, "content-type": "application/x-www-form-urlencoded" };
      return asPage(url, await fetchPage(url, { method: "POST", redirect: "manual", headers, body: values }), fetchPage);
    },
  };
}

const attribute = (tag: string, name: string): string | undefined => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
