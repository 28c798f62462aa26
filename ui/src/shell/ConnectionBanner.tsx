/**
 * A banner above every page. It says that the server can't be reached and how old the data is, or that the server has a newer version of the
 * UI. It disappears automatically: when the server responds again, data is refetched; an outdated page is reloaded once no input would be lost.
 */

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { reloadOnce, useOutdated } from "../api/build";
import { freeze } from "../api/clock";
import { doubt, useOutage, type Outage } from "../api/connection";
import { EMBEDDED } from "../api/embed";
import { isIdle, watchInput } from "../api/unsaved";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { duration } from "../parts/Time";

const TICK_MS = 1000;

export function ConnectionBanner() {
  const outage = useOutage();
  const outdated = useOutdated();
  useEffect(watchInput, []);
  if (outage) return <Disconnected outage={outage} />;
  return outdated ? <Outdated /> : null;
}

function Disconnected({ outage }: { outage: Outage }) {
  const client = useQueryClient();
  const [current] = useState(() => new Set(active(client).map(({ queryHash }) => queryHash)));
  const [busy, setBusy] = useState(false);
  useTick();
  const asOf = oldest(client, current, outage.lastContact);
  useEffect(() => freeze(asOf ?? outage.lastContact), [asOf, outage.lastContact]);
  useEffect(() => () => freeze(null), []);
  const retry = async () => {
    setBusy(true);
    await doubt();
    setBusy(false);
  };
  return (
    <div className="connection warn" role="status" data-banner="disconnected">
      <Icon name="alert" />
      <span>
        {outage.cause === "unreachable" ? "The server has been unreachable" : "The server has been unavailable"}
        {/* The time changes every second, which a screen reader should not announce. */}
        <span aria-hidden="true">{` for ${lasting(outage)}`}</span>
        {asOf !== null && (
          <>
            {". The page shows data from "}
            <time dateTime={new Date(asOf).toISOString()}>{timeOf(asOf)}</time>
          </>
        )}
      </span>
      <Button busy={busy} onClick={() => void retry()}>
        Retry now
      </Button>
    </div>
  );
}

function lasting({ since }: Outage): string {
  const seconds = Math.max(1, Math.round((Date.now() - since) / 1000));
  return duration(seconds, seconds < 10);
}

function Outdated() {
  const client = useQueryClient();
  useEffect(() => {
    const timer = setInterval(() => {
      if (!client.isMutating() && isIdle() && reloadOnce()) clearInterval(timer);
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [client]);
  return (
    <div className="connection" role="status" data-banner="outdated">
      <Icon name="retry" />
      <span>{EMBEDDED ? "plait was updated. Reload the page that contains this view." : "plait was updated. Reload the page to use the new version. Unsaved input will be lost."}</span>
      {!EMBEDDED && <Button onClick={() => location.reload()}>Reload page</Button>}
    </div>
  );
}

function useTick(): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((count) => count + 1), TICK_MS);
    return () => clearInterval(timer);
  }, []);
}

const active = (client: QueryClient) => client.getQueryCache().findAll({ type: "active", predicate: ({ state }) => state.data !== undefined });

/** The time of the oldest data on screen. Data that was already on screen when the outage began is as of the last contact. */
function oldest(client: QueryClient, current: ReadonlySet<string>, lastContact: number): number | null {
  const times = active(client)
    .filter(({ queryKey }) => queryKey[0] !== "session")
    .map(({ queryHash, state }) => (current.has(queryHash) ? lastContact : Math.min(state.dataUpdatedAt, lastContact)));
  return times.length ? Math.min(...times) : null;
}

/** "00:08:31", with the date if it is not today. */
function timeOf(at: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString(undefined, { day: "numeric", month: "short" })}, ${time}`;
}
