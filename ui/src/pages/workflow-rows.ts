/**
 * A workflow as rows: a job, its fan-outs, their children, and so on for expanded rows. A fan-out can have tens of thousands of children, so
 * only visible children are loaded: the fan-out's total gives the number of rows, and pages of children are requested by index.
 */

import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { call } from "../api/client";
import { keyOf, useTenant } from "../api/hooks";
import { useLive, useLiveState } from "../api/live";
import type { Child, FanOut, JobPage } from "../api/types";

export type Row =
  | { kind: "job"; key: string; depth: number; job: JobPage }
  | { kind: "fan-out"; key: string; depth: number; fanOut: FanOut; name: string; parent: string }
  | { kind: "child"; key: string; depth: number; parent: string; fanOut: string; index: number; child: Child | undefined };

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
const ROOT = "root";
const LIVE_MS = 600;
const POLL_MS = 4000;

export const keyOfChild = (fanOut: string, index: number) => `${fanOut}.${index}`;

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

export function outlineOf(
  root: JobPage,
  branches: ReadonlyMap<string, JobPage>,
  turned: ReadonlySet<string>,
  childAt: (fanOut: string, index: number) => Child | undefined,
): Outline {
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
        return own === fanOut.id && Number(index) >= from && Number(index) < to ? Number(index) - from : -1;
      },
    });
    count += to - from;
  };
  const childRow = (fanOut: string, parent: string, depth: number, index: number): Row => ({
    kind: "child",
    key: keyOfChild(fanOut, index),
    depth,
    parent,
    fanOut,
    index,
    child: childAt(fanOut, index),
  });
  const below = (job: JobPage, depth: number) => {
    for (const fanOut of job.fan_outs) {
      one({ kind: "fan-out", key: fanOut.id, depth, fanOut, name: nameOf(fanOut, job), parent: job.id });
      if (!isOpen(fanOut.id, depth, turned)) continue;
      let from = 0;
      for (const index of opened(fanOut.id, turned)) {
        const child = childAt(fanOut.id, index);
        const branch = child && branches.get(child.id);
        if (!branch || index >= childrenOf(fanOut)) continue;
        children(fanOut, job.id, depth + 1, from, index + 1);
        below(branch, depth + 2);
        from = index + 1;
      }
      children(fanOut, job.id, depth + 1, from, childrenOf(fanOut));
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

/** The indexes of a fan-out's expanded children. */
function opened(fanOut: string, turned: ReadonlySet<string>): number[] {
  const begin = `${fanOut}.`;
  return [...turned]
    .filter((key) => key.startsWith(begin))
    .map((key) => Number(key.slice(begin.length)))
    .sort((a, b) => a - b);
}

export interface Wanted {
  parent: string;
  fanOut: string;
  page: number;
}

/** Load pages of children and expanded jobs, and refetch them when they change. */
export function useBranches(rootId: string, live: boolean, wanted: readonly Wanted[], jobs: readonly string[]) {
  const tenant = useTenant();
  const client = useQueryClient();
  const polling = useLiveState() === "polling";
  const given = ({ parent, fanOut, page }: Wanted) => ({ path: { job_id: parent }, query: { fan_out: fanOut, start: page * PAGE, limit: PAGE } });
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
    const found = new Map<string, Child>();
    wanted.forEach(({ fanOut }, at) => pages[at]?.items.forEach((child) => found.set(keyOfChild(fanOut, child.fan_out_index), child)));
    const known = new Map<string, JobPage>();
    jobs.forEach((id, at) => branches[at] && known.set(id, branches[at]));
    return { children: found, branches: known };
  }, [pages, branches, wanted, jobs]);
}
