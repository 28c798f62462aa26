/**
 * A workflow as rows: a job, its steps and fan-outs, their children, and so on for expanded rows. Of tens of thousands of children only the
 * visible ones are loaded: a fan-out's total gives the number of rows, and pages of children are requested by their place in the order. By
 * default that is their index.
 */

import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { call } from "../api/client";
import { keyOf, useTenant } from "../api/hooks";
import { useLive, useLiveState } from "../api/live";
import type { Child, FanOut, JobPage, Step } from "../api/types";
import { orderQuery, type Order } from "./workflow-order";

export type Row =
  | { kind: "job"; key: string; depth: number; job: JobPage }
  /** `shown`: the number of its children that have rows. */
  | { kind: "fan-out"; key: string; depth: number; fanOut: FanOut; name: string; parent: string; shown: number }
  | { kind: "step"; key: string; depth: number; step: Step }
  | { kind: "child"; key: string; depth: number; parent: string; fanOut: string; place: number; child: Child | undefined };

/** A range of rows of the same type, and the position where it starts. */
interface RowRange {
  at: number;
  count: number;
  row: (offset: number) => Row;
  holds: (key: string) => number;
}

export interface Outline {
  count: number;
  row: (position: number) => Row;
  /** The position of a row, or -1. */
  find: (key: string) => number;
}

export const PAGE = 200;
/** The number of children of a fan-out that the API sorts. */
const SORTED = 100_000;
const ROOT = "root";
const LIVE_MS = 600;
const POLL_MS = 4000;

export const keyOfChild = (fanOut: string, index: number) => `${fanOut}.${index}`;
const keyOfPlace = (fanOut: string, place: number) => `${fanOut}@${place}`;

/** The data that is loaded: children with their places in the order, by place and by index, and expanded jobs. */
export interface Known {
  byPlace: ReadonlyMap<string, Child>;
  byIndex: ReadonlyMap<string, { child: Child; place: number }>;
  branches: ReadonlyMap<string, JobPage>;
}

export const NOTHING: Known = { byPlace: new Map(), byIndex: new Map(), branches: new Map() };

/** The place of a child, or -1 if it is not known. */
export const placeOf = (known: Known, order: Order, fanOut: string, index: number) => (order === "index" ? index : (known.byIndex.get(keyOfChild(fanOut, index))?.place ?? -1));

/** The name of a fan-out in the URL. A job's name is its id. */
export const nameOfFanOut = (id: string) => `fan-out:${id}`;
export const fanOutOf = (name: string) => (name.startsWith("fan-out:") ? name.slice(8) : null);

/** Whether a row is expanded. By default, the root and its fan-outs are expanded, and deeper rows are not. `turned` lists the exceptions. */
export function isOpen(key: string, depth: number, turned: ReadonlySet<string>): boolean {
  return depth <= 1 !== turned.has(key);
}

/** The display name of a fan-out: the name of the step that created it. */
export function nameOf(fanOut: FanOut, job: JobPage): string {
  const step = job.steps.find((one) => one.fan_out_id === fanOut.id);
  if (step) return step.occurrence > 1 ? `${step.name} ${step.occurrence}` : step.name;
  return fanOut.strategy === "nursery" ? "spawned" : fanOut.strategy === "after" ? "dependencies" : "fan-out";
}

/** The strategy `after` counts dependencies outside the workflow, so it has no children. */
export const childrenOf = (fanOut: FanOut) => (fanOut.strategy === "after" ? 0 : fanOut.total);

/** The steps that run or wait in the job itself. The others take no time, or are the step of a fan-out. */
const OWN_STEPS = new Set(["call", "transaction", "sleep", "signal"]);

/** The rows below a job in order: its own steps, and its fan-outs without empty ones. */
export function partsOf(job: JobPage): (FanOut | Step)[] {
  const left = new Map(job.fan_outs.filter(({ total }) => total > 0).map((one) => [one.id, one]));
  const parts: (FanOut | Step)[] = [];
  for (const step of job.steps) {
    const fanOut = step.fan_out_id ? left.get(step.fan_out_id) : undefined;
    if (fanOut) {
      parts.push(fanOut);
      left.delete(fanOut.id);
    } else if (OWN_STEPS.has(step.kind)) parts.push(step);
  }
  return [...parts, ...left.values()];
}

const keyOfStep = (job: JobPage, { seq, name }: Step) => `step ${job.id} ${seq} ${name}`;

export function outlineOf(root: JobPage, known: Known, turned: ReadonlySet<string>, order: Order): Outline {
  const ranges: RowRange[] = [];
  let count = 0;
  const one = (row: Row) => {
    ranges.push({ at: count++, count: 1, row: () => row, holds: (key) => (key === row.key ? 0 : -1) });
  };
  const children = (fanOut: FanOut, parent: string, depth: number, from: number, to: number) => {
    if (to <= from) return;
    ranges.push({
      at: count,
      count: to - from,
      row: (offset) => childRow(fanOut.id, parent, depth, from + offset),
      holds: (key) => {
        const [own, index] = key.split(".");
        const place = own === fanOut.id ? placeOf(known, order, fanOut.id, Number(index)) : -1;
        return place >= from && place < to ? place - from : -1;
      },
    });
    count += to - from;
  };
  const childRow = (fanOut: string, parent: string, depth: number, place: number): Row => {
    const child = known.byPlace.get(keyOfPlace(fanOut, place));
    const key = child ? keyOfChild(fanOut, child.fan_out_index) : order === "index" ? keyOfChild(fanOut, place) : keyOfPlace(fanOut, place);
    return { kind: "child", key, depth, parent, fanOut, place, child };
  };
  const below = (job: JobPage, depth: number) => {
    for (const part of partsOf(job)) {
      if (!("strategy" in part)) {
        one({ kind: "step", key: keyOfStep(job, part), depth, step: part });
        continue;
      }
      const fanOut = part;
      const shown = order === "index" ? childrenOf(fanOut) : Math.min(childrenOf(fanOut), SORTED);
      one({ kind: "fan-out", key: fanOut.id, depth, fanOut, name: nameOf(fanOut, job), parent: job.id, shown });
      if (!isOpen(fanOut.id, depth, turned)) continue;
      let from = 0;
      for (const { child, place } of opened(fanOut.id, turned, known)) {
        const branch = known.branches.get(child.id);
        if (!branch || place >= shown) continue;
        children(fanOut, job.id, depth + 1, from, place + 1);
        below(branch, depth + 2);
        from = place + 1;
      }
      children(fanOut, job.id, depth + 1, from, shown);
    }
  };
  one({ kind: "job", key: ROOT, depth: 0, job: root });
  if (isOpen(ROOT, 0, turned)) below(root, 1);
  return {
    count,
    row: (position) => {
      let [low, high] = [0, ranges.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (ranges[middle]!.at <= position) low = middle;
        else high = middle - 1;
      }
      return ranges[low]!.row(position - ranges[low]!.at);
    },
    find: (key) => {
      for (const range of ranges) {
        const offset = range.holds(key);
        if (offset >= 0) return range.at + offset;
      }
      return -1;
    },
  };
}

/** A fan-out's expanded children, by their places. */
function opened(fanOut: string, turned: ReadonlySet<string>, known: Known) {
  const begin = `${fanOut}.`;
  return [...turned]
    .flatMap((key) => (key.startsWith(begin) ? (known.byIndex.get(key) ?? []) : []))
    .sort((a, b) => a.place - b.place);
}

export interface Wanted {
  parent: string;
  fanOut: string;
  page: number;
}

/** Load pages of children and expanded jobs, and refetch them when they change. */
export function useBranches(rootId: string, live: boolean, wanted: readonly Wanted[], jobs: readonly string[], order: Order): Known {
  const tenant = useTenant();
  const client = useQueryClient();
  const polling = useLiveState() === "polling";
  const given = ({ parent, fanOut, page }: Wanted) => ({ path: { job_id: parent }, query: { fan_out: fanOut, start: page * PAGE, limit: PAGE, ...orderQuery(order) } });
  const again = live ? (polling ? POLL_MS : 2 * POLL_MS) : false;
  const pages = useQueries({
    queries: wanted.map((one) => ({
      queryKey: keyOf("GET /jobs/{job_id}/children", tenant, given(one)),
      queryFn: ({ signal }: { signal: AbortSignal }) => call("GET /jobs/{job_id}/children", given(one), tenant, signal),
      refetchInterval: again as number | false,
    })),
    combine: (answers) => answers.map(({ data }) => data),
  });
  const branches = useQueries({
    queries: jobs.map((id) => ({
      queryKey: keyOf("GET /jobs/{job_id}", tenant, { path: { job_id: id } }),
      queryFn: ({ signal }: { signal: AbortSignal }) => call("GET /jobs/{job_id}", { path: { job_id: id } }, tenant, signal),
      refetchInterval: again as number | false,
    })),
    combine: (answers) => answers.map(({ data }) => data),
  });
  const moved = useRef<{ timer?: ReturnType<typeof setTimeout>; fanOuts: Set<string>; jobs: Set<string>; all: boolean }>({ fanOuts: new Set(), jobs: new Set(), all: false });

  useLive((events) => {
    const about = moved.current;
    for (const event of events) {
      if (event.kind === "reset") about.all = true;
      if (event.root_id !== rootId) continue;
      if (event.fan_out_id) about.fanOuts.add(event.fan_out_id);
      if (event.parent_id) about.jobs.add(event.parent_id);
    }
    if (!about.all && !about.fanOuts.size && !about.jobs.size) return;
    about.timer ??= setTimeout(() => {
      const now = moved.current;
      moved.current = { fanOuts: new Set(), jobs: new Set(), all: false };
      for (const one of wanted)
        if (now.all || now.fanOuts.has(one.fanOut))
          void client.invalidateQueries({ queryKey: keyOf("GET /jobs/{job_id}/children", tenant, given(one)), exact: true });
      for (const id of jobs)
        if (now.all || now.jobs.has(id)) void client.invalidateQueries({ queryKey: keyOf("GET /jobs/{job_id}", tenant, { path: { job_id: id } }), exact: true });
    }, LIVE_MS);
  });

  return useMemo(() => {
    const byPlace = new Map<string, Child>();
    const byIndex = new Map<string, { child: Child; place: number }>();
    wanted.forEach(({ fanOut, page }, at) =>
      pages[at]?.items.forEach((child, offset) => {
        const place = page * PAGE + offset;
        byPlace.set(keyOfPlace(fanOut, place), child);
        byIndex.set(keyOfChild(fanOut, child.fan_out_index), { child, place });
      }),
    );
    const known = new Map<string, JobPage>();
    jobs.forEach((id, at) => branches[at] && known.set(id, branches[at]));
    return { byPlace, byIndex, branches: known };
  }, [pages, branches, wanted, jobs]);
}
