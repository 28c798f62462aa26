/** A schedule in words, and its next firings. */

import { useEffect, useState } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { PageOfInstant } from "../api/types";
import { onReturn } from "../api/connection";
import { duration, relative } from "./Time";

/** A cron expression in words; null while the library loads and for invalid expressions. */
export function useCronWords(cron: string | null): string | null {
  const [words, setWords] = useState<string | null>(null);
  const [returns, setReturns] = useState(0);
  useEffect(() => onReturn(() => setReturns((count) => count + 1)), []);
  useEffect(() => {
    let gone = false;
    setWords(null);
    if (!cron) return;
    import("cronstrue")
      .then(({ default: cronstrue }) => cronstrue.toString(cron, { use24HourTimeFormat: true, throwExceptionOnParseError: true }))
      .then(
        (found) => !gone && setWords(found),
        () => undefined, // the server's error is shown next to it
      );
    return () => {
      gone = true;
    };
  }, [cron, returns]);
  return words;
}

export function CronWords({ cron, every, timezone }: { cron: string | null; every: number | null; timezone: string | null }) {
  const words = useCronWords(cron);
  if (every !== null) return <span>{`Every ${duration(every)}`}</span>;
  return (
    <span>
      {words ?? <code>{cron}</code>}
      {timezone && <span className="quiet">{`, ${timezone}`}</span>}
    </span>
  );
}

/** The next firings in the schedule's time zone, with the effects of daylight saving time. */
export function NextFirings({ query }: { query: UseQueryResult<PageOfInstant, Error> }) {
  if (query.error)
    return (
      <p role="alert" className="bad">
        {query.error.message}
      </p>
    );
  return (
    <ol className="next-times" aria-label="Next firings">
      {query.data?.items.map(({ instant, local, note }) => (
        <li key={instant}>
          <time dateTime={instant} title={instant}>
            {clock(local)}
          </time>
          <span className="quiet">{relative(instant)}</span>
          {note && <span className="warn note">{note}</span>}
        </li>
      ))}
      {query.data?.items.length === 0 && <li className="quiet">No further firings</li>}
    </ol>
  );
}

/** Local time in the schedule's time zone, independent of the browser's: "Sun 29 Mar 2026, 03:00 +02:00". */
function clock(local: string): string {
  const found = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d)(?::(\d\d))?(?:\.\d+)?(Z|[+-]\d\d:\d\d)?/.exec(local);
  if (!found) return local;
  const [, year, month, day, time, seconds, offset] = found;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  const words = date.toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
  return `${words}, ${time}${seconds && seconds !== "00" ? `:${seconds}` : ""} ${offset === "Z" ? "+00:00" : (offset ?? "")}`;
}
