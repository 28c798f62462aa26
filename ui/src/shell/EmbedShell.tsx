/**
 * The layout of the embedded view: a tenant's pages in a frame, with no links to other pages. `?theme=dark` or `?theme=light` in the
 * frame's URL selects the theme.
 */

import { Link, Outlet } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { tellEnded } from "../api/embed";
import { useLiveState, watch } from "../api/live";
import { useSession } from "../api/session";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/States";
import { ConnectionBanner } from "./ConnectionBanner";
import { KeyHelp, listenToKeys, useKeys } from "./keys";
import { PLACES } from "./nav";
import "../styles/embed.css";

const theme = new URLSearchParams(location.search).get("theme");
if (theme === "dark" || theme === "light") document.documentElement.dataset["theme"] = theme;

export function EmbedShell() {
  const [keys, setKeys] = useState(false);
  const session = useSession();
  const live = useLiveState();
  useEffect(() => watch(null), []);
  useEffect(listenToKeys, []);
  useKeys("Everywhere", { "?": ["Show keyboard shortcuts", () => setKeys(true)] });
  const places = PLACES.flatMap(({ places }) => places).filter((place) => session.can(place.needs));
  return (
    <div className="embed">
      <nav aria-label="Pages">
        {places.map((place) => (
          <Link key={place.to} to={place.to} activeOptions={{ exact: place.to === "/", includeSearch: false }} activeProps={{ "aria-current": "page" }}>
            <Icon name={place.icon} />
            {place.label}
          </Link>
        ))}
        <span className={`live live-${live}`} data-live={live} title={live === "live" ? "Live" : "Polling every few seconds"}>
          <span aria-hidden="true" />
          <span className="hidden">{live}</span>
        </span>
      </nav>
      <main id="main" tabIndex={-1}>
        <ConnectionBanner />
        <Outlet />
      </main>
      {keys && <KeyHelp onClose={() => setKeys(false)} />}
    </div>
  );
}

export function SessionEnded() {
  useEffect(tellEnded, []);
  return (
    <main>
      <Empty title="This session has ended" icon="clock">
        <p className="quiet">Reload the page that contains this view.</p>
      </Empty>
    </main>
  );
}
