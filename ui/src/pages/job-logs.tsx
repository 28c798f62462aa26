/** The log lines of a job: text that its handler prints or logs. New lines are appended while the job runs. */

import { useCallback, useEffect, useRef, useState } from "react";
import { call } from "../api/client";
import { useTenant } from "../api/hooks";
import { stringify } from "../api/json";
import { useLive, useLiveState } from "../api/live";
import { number, oneOf, searchOf } from "../api/search";
import type { JobPage, LogLine } from "../api/types";
import { isFinal } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Code";
import { Panel } from "../parts/Page";
import { Empty } from "../parts/States";
import { absolute } from "../parts/Time";

const LEVELS = ["debug", "info", "warning", "error", "critical"] as const;
const params = searchOf({ attempt: number, level: oneOf(...LEVELS) });
const PAGE = 500;
/** Lines on the page. When more arrive, the first ones leave it, and can be loaded again. */
const MOST = 5000;
const POLL_MS = 4000;

interface Lines {
  items: LogLine[];
  /** Position of the first line; null if it is the first of the log. */
  before: string | null;
}

export function Logs({ job }: { job: JobPage }) {
  const [{ attempt, level }, setSearch] = params.use();
  const { lines, error, earlier } = useLines(job.id, attempt, level);
  return (
    <Panel>
      <div className="row log-tools">
        <label className="row">
          Attempt
          <input
            type="number"
            min={1}
            max={Math.max(job.attempt_no, 1)}
            placeholder="All"
            value={attempt ?? ""}
            onChange={(event) => setSearch({ attempt: event.target.value === "" ? null : Math.max(1, Math.trunc(Number(event.target.value))) }, { replace: true })}
          />
        </label>
        <label className="row">
          Level
          <select value={level} onChange={(event) => setSearch({ level: event.target.value as (typeof LEVELS)[number] }, { replace: true })}>
            {LEVELS.map((one) => (
              <option key={one} value={one}>
                {one === "debug" ? "All levels" : one === "critical" ? "critical" : `${one} and above`}
              </option>
            ))}
          </select>
        </label>
        <span className="quiet grow">{lines && lines.items.length > 0 && counted(lines)}</span>
        {lines && lines.items.length > 0 && <Copy text={() => lines.items.map(asText).join("\n")} label="Copy the lines shown" words="Copy" />}
      </div>
      {error && <p className="bad" role="alert">{error}</p>}
      {lines && !lines.items.length && <NoLines job={job} filtered={attempt !== null || level !== "debug"} />}
      {lines && lines.items.length > 0 && <Shown lines={lines} earlier={earlier} />}
    </Panel>
  );
}

function counted({ items, before }: Lines): string {
  const count = `${items.length.toLocaleString()} ${items.length === 1 ? "line" : "lines"}`;
  return before === null ? count : `The last ${count}; earlier lines are not loaded`;
}

function NoLines({ job, filtered }: { job: JobPage; filtered: boolean }) {
  return (
    <Empty title={filtered ? "No matching log lines" : isFinal(job.status) ? "No log lines" : "No log lines yet"} icon="clock">
      <p className="quiet">Text that the handler prints or logs is shown here. Workers store lines of the level PLAIT_JOB_LOGS and above.</p>
    </Empty>
  );
}

function Shown({ lines, earlier }: { lines: Lines; earlier: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  useEffect(() => {
    if (stuck.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <div
      ref={box}
      className="log"
      tabIndex={0}
      role="region"
      aria-label="Log lines"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        stuck.current = scrollHeight - scrollTop - clientHeight < 20;
      }}
    >
      {lines.before !== null && <Button onClick={earlier}>Load earlier lines</Button>}
      <ol>
        {lines.items.map((line) => (
          <li key={`${line.attempt_no}.${line.line}`} className={`level-${line.level}`} data-line={`${line.attempt_no}.${line.line}`}>
            <time dateTime={line.at} title={absolute(line.at)}>
              {clock(line.at)}
            </time>
            <span title="Attempt">{line.attempt_no}</span>
            <span className="level">{line.level}</span>
            <span className="text">
              {from(line) && <span className="quiet">{from(line)} </span>}
              {line.message}
              {fields(line) && <span className="quiet"> {fields(line)}</span>}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

const from = (line: LogLine) => line.logger ?? (line.source === "stderr" ? "stderr" : null);
const fields = (line: LogLine) =>
  line.fields === null ? "" : Object.entries(line.fields as Record<string, unknown>).map(([name, value]) => `${name}=${stringify(value)}`).join(" ");
const asText = (line: LogLine) => [line.at, `[${line.attempt_no}]`, line.level, from(line), line.message, fields(line)].filter(Boolean).join(" ");
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" });
const clock = (at: string) => CLOCK.format(new Date(at));

/** The last lines, and those that are logged from now on. */
function useLines(job: string, attempt: number | null, level: string) {
  const tenant = useTenant();
  const stream = useLiveState();
  const [lines, setLines] = useState<Lines>();
  const [error, setError] = useState<string>();
  const state = useRef<{ run: number; after: string | null; busy: boolean; again: boolean }>({ run: 0, after: null, busy: false, again: false });

  const read = useCallback(
    (where: { after?: string; before?: string }) =>
      call("GET /jobs/{job_id}/logs", { path: { job_id: job }, query: { attempt: attempt ?? undefined, level: level as never, limit: PAGE, ...where } }, tenant),
    [job, attempt, level, tenant],
  );

  /** Append lines that have been logged since; only one request at a time. */
  const follow = useCallback(async () => {
    const { run } = state.current;
    if (state.current.busy) {
      state.current.again = true;
      return;
    }
    state.current.busy = true;
    try {
      do {
        state.current.again = false;
        const page = await read(state.current.after === null ? {} : { after: state.current.after });
        if (run !== state.current.run) return;
        const first = state.current.after === null;
        state.current.after = page.after;
        setError(undefined);
        setLines((old) => (first || !old ? { items: page.items, before: page.before } : page.items.length ? joined(old, page.items) : old));
        if (!first && page.items.length === PAGE) state.current.again = true;
      } while (state.current.again);
    } catch (failure) {
      if (run === state.current.run) setError(failure instanceof Error ? failure.message : String(failure));
    } finally {
      if (run === state.current.run) state.current.busy = false;
    }
  }, [read]);

  useEffect(() => {
    state.current = { run: state.current.run + 1, after: null, busy: false, again: false };
    setLines(undefined);
    void follow();
  }, [follow]);
  useLive((events) => {
    if (events.some((event) => event.kind === "reset" || ((event.kind === "log_line" || event.kind === "job") && event.id === job))) void follow();
  });
  useEffect(() => {
    if (stream !== "polling") return;
    const timer = setInterval(() => void follow(), POLL_MS);
    return () => clearInterval(timer);
  }, [stream, follow]);

  const earlier = () => {
    const { run } = state.current;
    if (!lines?.before) return;
    read({ before: lines.before }).then(
      (page) => {
        if (run === state.current.run) setLines((old) => old && { items: [...page.items, ...old.items], before: page.before });
      },
      (failure: Error) => setError(failure.message),
    );
  };
  return { lines, error, earlier };
}

function joined(old: Lines, added: LogLine[]): Lines {
  const items = [...old.items, ...added];
  if (items.length <= MOST) return { items, before: old.before };
  const kept = items.slice(-MOST);
  return { items: kept, before: `${kept[0]!.attempt_no}.${kept[0]!.line}` };
}
