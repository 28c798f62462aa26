/** The layout around every page: navigation, tenant selector, connection state, command palette, keyboard shortcuts. */

import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useRead, useTenant } from "../api/hooks";
import { useOutage } from "../api/connection";
import { useLiveState, watch } from "../api/live";
import { useSession, useSignOut } from "../api/session";
import { Icon } from "../parts/Icon";
import { ConnectionBanner } from "./ConnectionBanner";
import { KeyHelp, listenToKeys, useKeys, type KeyMap } from "./keys";
import { PLACES } from "./nav";
import { Palette } from "./Palette";
import { setTheme, useTheme, type Theme } from "./theme";

export function Shell() {
  const [open, setOpen] = useState<"palette" | "keys" | null>(null);
  const tenant = useTenant();
  useEffect(() => watch(tenant), [tenant]);
  useEffect(listenToKeys, []);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen("palette");
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  useKeys("Everywhere", { ...useGoing(), "?": ["Show keyboard shortcuts", () => setOpen("keys")] });
  useTitle();

  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to main content
      </a>
      <header className="side">
        <Link to="/" className="brand" aria-label="plait, overview">
          <img src="/icon.svg" alt="" width="22" height="22" />
          <span>plait</span>
        </Link>
        <TenantSwitch />
        <button type="button" className="finder" onClick={() => setOpen("palette")} aria-keyshortcuts="Control+K">
          <Icon name="search" />
          <span>Go to…</span>
          <kbd>{MAC ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <Navigation />
        <Foot onKeys={() => setOpen("keys")} />
      </header>
      <main id="main" tabIndex={-1}>
        <ConnectionBanner />
        <Outlet />
      </main>
      {open === "palette" && <Palette onClose={() => setOpen(null)} />}
      {open === "keys" && <KeyHelp onClose={() => setOpen(null)} />}
    </div>
  );
}

function Navigation() {
  const session = useSession();
  return (
    <nav aria-label="Pages">
      {PLACES.map(({ group, places }) => {
        const seen = places.filter((place) => session.can(place.needs));
        if (!seen.length) return null;
        return (
          <div key={group}>
            <h2>{group}</h2>
            <ul>
              {seen.map((place) => (
                <li key={place.to}>
                  <Link
                    to={place.to}
                    activeOptions={{ exact: place.to === "/", includeSearch: false }}
                    activeProps={{ "aria-current": "page" }}
                  >
                    <Icon name={place.icon} />
                    {place.label}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

/** The tenant selector. Super-admins select a tenant; other users see only their own. */
function TenantSwitch() {
  const session = useSession();
  const tenant = useTenant();
  const navigate = useNavigate();
  const tenants = useRead("GET /tenants", undefined, { enabled: session.isSuper });
  if (!session.isSuper) return <div className="tenant">{session.tenant}</div>;
  return (
    <label className="tenant">
      <span className="hidden">Tenant</span>
      <select
        value={tenant ?? ""}
        onChange={(event) =>
          void navigate({ to: ".", search: (old: Record<string, unknown>) => ({ ...old, tenant: event.target.value || undefined }) as never })
        }
      >
        <option value="">All tenants</option>
        {tenant && !tenants.data?.items.some(({ slug }) => slug === tenant) && <option value={tenant}>{tenant}</option>}
        {tenants.data?.items.map(({ slug }) => (
          <option key={slug} value={slug}>
            {slug}
          </option>
        ))}
      </select>
    </label>
  );
}

const MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const LIVE_WORDS = { connecting: "Connecting…", live: "Live", polling: "Polling for changes, because the event stream is interrupted" };

function Foot({ onKeys }: { onKeys: () => void }) {
  const session = useSession();
  const signOut = useSignOut();
  const live = useLiveState();
  const outage = useOutage();
  const chosen = useTheme();
  const themes: [Theme, string, "sun" | "moon" | "system"][] = [
    ["light", "Light", "sun"],
    ["dark", "Dark", "moon"],
    ["system", "System", "system"],
  ];
  return (
    <footer>
      <div className={`live live-${live}`} title={outage ? "The server can't be reached" : LIVE_WORDS[live]} data-live={live}>
        <span aria-hidden="true" />
        {outage ? "Disconnected" : live === "polling" ? "Polling" : LIVE_WORDS[live]}
      </div>
      <div className="row">
        <div className="switch" role="radiogroup" aria-label="Theme">
          {themes.map(([theme, label, icon]) => (
            <button key={theme} type="button" role="radio" aria-checked={chosen === theme} aria-label={label} title={label} onClick={() => setTheme(theme)}>
              <Icon name={icon} />
            </button>
          ))}
        </div>
        <button type="button" className="plain" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={onKeys}>
          <Icon name="keyboard" />
        </button>
      </div>
      <div className="who">
        <div>
          <strong title={session.name}>{session.name}</strong>
          <small>{session.role}</small>
        </div>
        <button type="button" className="plain" aria-label="Sign out" title="Sign out" onClick={() => void signOut()}>
          <Icon name="out" />
        </button>
      </div>
    </footer>
  );
}

function useGoing(): KeyMap {
  const session = useSession();
  const navigate = useNavigate();
  return Object.fromEntries(
    PLACES.flatMap(({ places }) => places)
      .filter((place) => session.can(place.needs))
      .map((place) => [
        `g ${place.key}`,
        [place.label, () => void navigate({ to: place.to })] as const,
      ]),
  );
}

function useTitle(): void {
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => {
    const place = PLACES.flatMap(({ places }) => places).find(({ to }) => (to === "/" ? path === "/" : path.startsWith(to)));
    document.title = place ? `${place.label} · plait` : "plait";
  }, [path]);
}
