/**
 * A timeline with one lane for each job (queued, running, in backoff, waiting) and one for each fan-out (the number of jobs that ran
 * concurrently). Only visible lanes are rendered. Ctrl and the mouse wheel zoom at the pointer. Dragging moves the timeline.
 */

import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { now as time } from "../api/clock";
import { useRead } from "../api/hooks";
import type { JobPage, Step } from "../api/types";
import { Button } from "../parts/Button";
import { absolute, duration } from "../parts/Time";
import { useKeys } from "../shell/keys";
import { nameOfStep } from "./job-steps";
import { SortSelect, type Order } from "./workflow-order";
import { PHASES, phasesOf, type Phase } from "./workflow-phases";
import type { Row } from "./workflow-rows";

export interface Range {
  /** ms */
  from: number;
  to: number;
}

export const TIMELINE_TRACKS = "minmax(220px, 300px) minmax(300px, 1fr)";
const LEAST_MS = 5;
const TICKS = 6;
/** The number of buckets in a fan-out's lane. */
const PARTS = 160;

/** The visible range: the whole timeline, which grows while the workflow runs, or the part in the URL (`zoom`: ms since the start). */
export function useRange(root: JobPage, zoom: string, setZoom: (zoom: string) => void) {
  const now = useNow(root.finished_at === null);
  const begin = Date.parse(root.created_at);
  const end = root.finished_at ? Date.parse(root.finished_at) : Math.max(now, begin + 1000);
  const whole = { from: begin, to: Math.max(end + (end - begin) * 0.01, begin + 100) };
  const [, first, last] = /^(\d{1,13})-(\d{1,13})$/.exec(zoom)?.map(Number) ?? [];
  const part = first !== undefined && last !== undefined && last - first >= LEAST_MS ? { from: begin + first, to: begin + last } : null;
  const range = part ?? whole;
  const set = useCallback(
    ({ from, to }: Range) => {
      const width = Math.max(LEAST_MS, to - from);
      const left = Math.max(0, Math.round(from - begin));
      setZoom(`${left}-${Math.round(left + width)}`);
    },
    [begin, setZoom],
  );
  const scale = useCallback(
    (by: number, at = (range.from + range.to) / 2) => set({ from: at - (at - range.from) * by, to: at + (range.to - at) * by }),
    [range.from, range.to, set],
  );
  const move = useCallback((by: number) => set({ from: range.from + by, to: range.to + by }), [range.from, range.to, set]);
  return { now, range, whole, zoomed: part !== null, set, scale, move, fit: useCallback(() => setZoom(""), [setZoom]) };
}

export type Ranging = ReturnType<typeof useRange>;

export function TimelineTools({ ranging, sorting }: { ranging: Ranging; sorting: { chosen: Order; onChoose: (order: Order) => void } }) {
  const { range, scale, move, fit, zoomed } = ranging;
  const width = range.to - range.from;
  useKeys("Timeline", {
    "+": ["Zoom in", () => scale(0.5)],
    "-": ["Zoom out", () => scale(2)],
    "0": ["Fit to width", fit],
    "[": ["Earlier", () => move(-width / 3)],
    "]": ["Later", () => move(width / 3)],
  });
  return (
    <div className="timeline-tools">
      <ul className="legend" aria-label="Legend">
        {(Object.keys(PHASES) as (keyof typeof PHASES)[]).map((kind) => (
          <li key={kind}>
            <span className={`phase ph-${kind}`} aria-hidden="true" />
            {PHASES[kind]}
          </li>
        ))}
      </ul>
      <div className="row">
        <SortSelect {...sorting} />
        <span className="quiet">{`${duration(width / 1000)} shown`}</span>
        <Button icon="plus" aria-label="Zoom in" title="Zoom in (+)" onClick={() => scale(0.5)} />
        <Button aria-label="Zoom out" title="Zoom out (-)" onClick={() => scale(2)}>
          –
        </Button>
        <Button onClick={fit} disabled={!zoomed}>
          Fit to width
        </Button>
      </div>
    </div>
  );
}

/** The time axis above the lanes. It handles the mouse wheel and dragging for all lanes. */
export function TimelineHead({ ranging }: { ranging: Ranging }) {
  const { range } = ranging;
  const own = useRef<HTMLSpanElement>(null);
  const latest = useRef(ranging);
  latest.current = ranging;
  useEffect(() => {
    const box = own.current?.closest<HTMLElement>("[role=treegrid]");
    if (!box) return;
    const at = (x: number) => {
      const { left, width } = own.current!.getBoundingClientRect();
      return (x - left) / width;
    };
    const wheeled = (event: WheelEvent) => {
      const { range, scale, move } = latest.current;
      const width = range.to - range.from;
      if (event.ctrlKey || event.metaKey) scale(event.deltaY > 0 ? 1.25 : 0.8, range.from + at(event.clientX) * width);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(((event.deltaX || event.deltaY) / 1000) * width);
      else return;
      event.preventDefault();
    };
    const pressed = (event: PointerEvent) => {
      const begin = at(event.clientX);
      if (begin < 0 || begin > 1 || event.button !== 0) return;
      const { range } = latest.current;
      const moved = (next: PointerEvent) => {
        const by = (begin - at(next.clientX)) * (range.to - range.from);
        if (Math.abs(next.clientX - event.clientX) > 4) latest.current.set({ from: range.from + by, to: range.to + by });
      };
      const ended = () => {
        document.removeEventListener("pointermove", moved);
        document.removeEventListener("pointerup", ended);
      };
      document.addEventListener("pointermove", moved);
      document.addEventListener("pointerup", ended);
    };
    box.addEventListener("wheel", wheeled, { passive: false });
    box.addEventListener("pointerdown", pressed);
    return () => {
      box.removeEventListener("wheel", wheeled);
      box.removeEventListener("pointerdown", pressed);
    };
  }, []);
  return (
    <span role="columnheader" className="td axis" aria-label="Time" ref={own}>
      {ticksOf(range).map(({ at, words }) => (
        <span key={at} className="tick" style={{ left: `${part(at, range)}%` }}>
          {words}
        </span>
      ))}
    </span>
  );
}

export function Lane({ row, ranging, root }: { row: Row; ranging: Ranging; root: JobPage }) {
  const { now, range } = ranging;
  if (row.kind === "fan-out") return <FanOutLane row={row} ranging={ranging} />;
  if (row.kind === "job") return <RootLane root={root} ranging={ranging} />;
  if (row.kind === "step") return <StepLane step={row.step} ranging={ranging} />;
  if (!row.child) return <span role="gridcell" className="td lane" aria-label="Loading" />;
  return <Phases phases={phasesOf({ ...row.child, since: row.child.run_at }, now)} range={range} final={row.child.finished_at} />;
}

/** One lane for all children of a fan-out: the number of jobs that ran concurrently, and failed attempts, in the visible range. */
function FanOutLane({ row: { fanOut, name, parent }, ranging: { now, range, zoomed } }: { row: Extract<Row, { kind: "fan-out" }>; ranging: Ranging }) {
  const from = Date.parse(fanOut.created_at);
  const to = fanOut.decided_at ? Date.parse(fanOut.decided_at) : now;
  const window = zoomed ? { start: new Date(range.from).toISOString(), end: new Date(range.to).toISOString() } : {};
  const asked = useRead("GET /jobs/{job_id}/load", { path: { job_id: parent }, query: { fan_out: fanOut.id, parts: PARTS, ...window } }, { live: ["job"], when: (event) => event.fan_out_id === fanOut.id, every: 2000 });
  const items = asked.data?.items ?? [];
  const most = Math.max(0, ...items.map(({ running }) => running));
  const first = items[0] && Date.parse(items[0].at);
  const width = items[1] && first !== undefined ? Date.parse(items[1].at) - first : 0;
  const title = `${name}: ${duration((to - from) / 1000)}${fanOut.decision ? `, ${fanOut.decision}` : ""}; max concurrency ${most}`;
  return (
    <LaneBox range={range} title={title}>
      <Piece range={range} from={from} to={to} className="ph-fan-out" title={title} />
      <Took range={range} from={from} to={to} seconds={(to - from) / 1000} />
      {most > 0 && first !== undefined && width > 0 && (
        <svg className="load" viewBox={`0 0 ${PARTS} ${most}`} preserveAspectRatio="none" style={{ left: `${part(first, range)}%`, width: `${part(first + width * PARTS, range) - part(first, range)}%` }} aria-hidden="true">
          <path d={`M0 ${most}${items.map(({ running }, at) => `L${at} ${most - running}H${at + 1}`).join("")}V${most}Z`} />
          {items.map(({ failed }, at) => failed > 0 && <rect key={at} x={at} width={1} y={0} height={most} className="load-failed" />)}
        </svg>
      )}
    </LaneBox>
  );
}

function RootLane({ root, ranging }: { root: JobPage; ranging: Ranging }) {
  const attempts = useRead("GET /jobs/{job_id}/attempts", { path: { job_id: root.id } }, { live: ["job"], when: (event) => event.id === root.id });
  const since = root.status === "running" ? root.claimed_at : root.run_at;
  return <Phases phases={phasesOf({ ...root, since, attempts: attempts.data?.items ?? [] }, ranging.now)} range={ranging.range} final={root.finished_at} />;
}

/** A step of a job: when it ran, or how long it waited. */
function StepLane({ step, ranging: { now, range } }: { step: Step; ranging: Ranging }) {
  const to = step.took_s === null ? (step.done ? Date.parse(step.at) : now) : Date.parse(step.started_at ?? step.at) + step.took_s * 1000;
  const from = Math.min(to, Date.parse(step.started_at ?? step.at));
  const waits = step.kind === "sleep" || step.kind === "signal";
  const known = step.took_s !== null || !step.done;
  const title = `${step.kind} ${nameOfStep(step)}: ${step.error ? "failed" : step.done ? "done" : "pending"}${known ? `, ${duration((to - from) / 1000)}` : ""}`;
  return (
    <LaneBox range={range} title={title}>
      <Piece range={range} from={from} to={to} className={waits ? "ph-wait" : `ph-run ph-step ${step.error ? "s-failed" : "s-succeeded"}`} title={title} />
      {known && <Took range={range} from={from} to={to} seconds={(to - from) / 1000} />}
    </LaneBox>
  );
}

function Phases({ phases, range, final }: { phases: Phase[]; range: Range; final: string | null }) {
  const [first, last] = [phases.find(({ kind }) => kind === "run"), phases.at(-1)];
  // The run time, as in the tree: from the first start to the end, or until now.
  const end = final ? Date.parse(final) : last?.to;
  const took = first && end !== undefined ? (end - first.from) / 1000 : null;
  return (
    <LaneBox range={range} title={[...phases.map(described), ...(took === null ? [] : [`run time ${duration(took)}`])].join("; ")}>
      {phases.map((phase) => (
        <Piece key={`${phase.kind} ${phase.from}`} range={range} from={phase.from} to={phase.to} className={`ph-${phase.kind} ${phase.status ? `s-${phase.status}` : ""}`} title={described(phase)} />
      ))}
      {took !== null && last && end !== undefined && <Took range={range} from={phases[0]!.from} to={Math.max(end, last.to)} seconds={took} />}
    </LaneBox>
  );
}

function LaneBox({ title, range, children }: { title: string; range: Range; children: ReactNode }) {
  return (
    <span role="gridcell" className="td lane" aria-label={title}>
      {ticksOf(range).map(({ at }) => (
        <span key={at} className="rule" style={{ left: `${part(at, range)}%` }} />
      ))}
      {children}
    </span>
  );
}

function Piece({ range, from, to, className, title }: { range: Range; from: number; to: number; className: string; title: string }) {
  if (to < range.from || from > range.to) return null;
  const left = Math.max(-1, part(from, range));
  const right = Math.min(101, part(to, range));
  return <span className={`phase ${className}`} title={title} style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }} />;
}

/** The duration of a bar: after its end, or before its start if there is no space, or else inside it. */
function Took({ range, from, to, seconds }: { range: Range; from: number; to: number; seconds: number }) {
  if (to < range.from || from > range.to || seconds < 0) return null;
  const [left, right] = [part(from, range), part(to, range)];
  const place = right < 90 ? { left: `${right}%` } : left > 10 ? { right: `${100 - left}%` } : { right: 0 };
  return (
    <span className={`took ${right < 90 || left > 10 ? "" : "inside"}`} style={place} aria-hidden="true">
      {duration(seconds)}
    </span>
  );
}

function described(phase: Phase): string {
  const took = duration((phase.to - phase.from) / 1000);
  const when = absolute(new Date(phase.from).toISOString()).split(" (")[0];
  const words = phase.kind === "run" ? `attempt ${phase.attempt}: ${phase.status}` : PHASES[phase.kind];
  return `${words} ${took}, from ${when}`;
}

const part = (at: number, { from, to }: Range) => ((at - from) / (to - from)) * 100;

/** A few round times for the axis. The precision of the labels depends on the interval between them. */
function ticksOf({ from, to }: Range): { at: number; words: string }[] {
  const step = stepOf((to - from) / TICKS);
  const offset = new Date(from).getTimezoneOffset() * 60_000;
  const first = Math.ceil((from - offset) / step) * step + offset;
  const found: { at: number; words: string }[] = [];
  for (let at = first; at < to; at += step) found.push({ at, words: clock(at, step) });
  return found;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];

const stepOf = (least: number) => STEPS.find((one) => one >= least) ?? Math.ceil(least / 864e5) * 864e5;

function clock(at: number, step: number): string {
  const date = new Date(at);
  if (step >= 864e5) return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", ...(step < 6e4 ? { second: "2-digit" } : {}) });
  return step < 1000 ? `${time}.${String(date.getMilliseconds()).padStart(3, "0")}` : time;
}

function useNow(moving: boolean): number {
  const [now, setNow] = useState(time);
  useEffect(() => {
    if (!moving) return;
    const timer = setInterval(() => setNow(time()), 1000);
    return () => clearInterval(timer);
  }, [moving]);
  return now;
}
