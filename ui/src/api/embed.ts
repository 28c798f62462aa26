/**
 * A tenant's view inside another application: this page in a frame, opened at /embed#link. The link is exchanged, once, for a session
 * that is held in this page's memory alone: no cookie is sent or set, so that whoever else is signed in to plait in this browser is
 * somebody else here. Who reloads the frame needs a new link: the page around it is told so by a message.
 *
 *     addEventListener("message", (event) => event.origin === "https://plait.example" && event.data === "plait:ended" && renew());
 */

/** Where its pages are. */
export const BASE = "/embed";

export const EMBEDDED = location.pathname === BASE || location.pathname.startsWith(`${BASE}/`);

let token: string | null = null;
let link = EMBEDDED ? location.hash.slice(1) : "";

// From the address, and so from the history, before anything else sees it.
if (link) history.replaceState(history.state, "", location.pathname + location.search);

/** What each request of an embedded view carries. */
export function credentials(): { headers: Record<string, string>; credentials: RequestCredentials } {
  if (!EMBEDDED) return { headers: {}, credentials: "same-origin" };
  return { headers: token ? { Authorization: `Session ${token}` } : {}, credentials: "omit" };
}

/** The link that this page was opened with: it is given once. */
export function takeLink(): string {
  const given = link;
  link = "";
  return given;
}

export function keepToken(given: string): void {
  token = given;
}

/** The page around this one may want to make a new link. */
export function tellEnded(): void {
  if (parent !== window) parent.postMessage("plait:ended", "*");
}
