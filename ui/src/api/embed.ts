/**
 * The embedded view: a tenant's pages in a frame of another application, opened at /embed#link. The link is exchanged once for a session
 * that exists only in this page's memory. No cookie is sent or set, so the view is independent of any other plait session in this browser.
 * After a reload the frame needs a new link. It sends a message to the containing page, which should then create one:
 *
 *     addEventListener("message", (event) => event.origin === "https://plait.example" && event.data === "plait:ended" && renew());
 */

/** The path of the embedded pages. */
export const BASE = "/embed";

export const EMBEDDED = location.pathname === BASE || location.pathname.startsWith(`${BASE}/`);

let token: string | null = null;
let link = EMBEDDED ? location.hash.slice(1) : "";

// Remove the link from the address and the history before anything else reads them.
if (link) history.replaceState(history.state, "", location.pathname + location.search);

/** Headers and credentials mode of each request. */
export function credentials(): { headers: Record<string, string>; credentials: RequestCredentials } {
  if (!EMBEDDED) return { headers: {}, credentials: "same-origin" };
  return { headers: token ? { Authorization: `Session ${token}` } : {}, credentials: "omit" };
}

/** The link that this page was opened with. Only the first call returns it. */
export function takeLink(): string {
  const given = link;
  link = "";
  return given;
}

export function keepToken(given: string): void {
  token = given;
}

/** Tell the containing page that the session has ended, so that it can create a new link. */
export function tellEnded(): void {
  if (parent !== window) parent.postMessage("plait:ended", "*");
}
