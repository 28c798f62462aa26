/** The visible rows of a workflow: names as a tree on the left, and the cells of the view next to them. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import type { Child, FanOut, JobPage } from "../api/types";
import { Badge, Tag } from "../parts/Badge";
import { Bar } from "../parts/Bar";
import { Icon } from "../parts/Icon";
import { Duration, Since } from "../parts/Time";
import { nameOfStep } from "./job-steps";
import { SortHead, type Order } from "./workflow-order";
import { childrenOf, isOpen, nameOfFanOut, partsOf, type Outline, type Row } from "./workflow-rows";

interface Props {
  label: string;
  outline: Outline;
  turned: ReadonlySet<string>;
  /** The id of a job or the name of a fan-out. */
  selected: string;
  /** The row to scroll to when it is first rendered. */
  sought: string | null;
  onSelect: (id: string) => void;
  onTurn: (key: string) => void;
  onSeen: (first: number, last: number) => void;
  /** Grid tracks, column heads and cells of the view, next to the names. */
  tracks: string;
  heads: ReactNode;
  cells: (row: Row) => ReactNode;
  className?: string;
  rowHeight?: number;
}

export function Rows({ label, outline, turned, selected, sought, onSelect, onTurn, onSeen, tracks, heads, cells, className = "", rowHeight = 32 }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [at, setAt] = useState(0);
  const virtual = useVirtualizer({
    count: outline.count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    getItemKey: (index) => slotOf(outline.row(index)),
  });
  const seen = virtual.getVirtualItems();
  const [first, last] = [seen[0]?.index ?? 0, seen.at(-1)?.index ?? 0];
  useEffect(() => onSeen(first, last), [first, last, outline, onSeen]);

  const found = sought === null ? -1 : outline.find(sought);
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (found < 0 || shown.current === sought) return;
    shown.current = sought;
    setAt(found);
    virtual.scrollToIndex(found, { align: "center" });
  }, [found, sought, virtual]);

  const go = (to: number) => {
    const next = Math.max(0, Math.min(outline.count - 1, to));
    setAt(next);
    virtual.scrollToIndex(next);
    const row = outline.row(next);
    if (idOf(row)) onSelect(idOf(row)!);
  };
  const pressed = (event: React.KeyboardEvent) => {
    const row = outline.row(Math.min(at, outline.count - 1));
    const open = opens(row) && isOpen(row.key, row.depth, turned);
    if (event.key === "ArrowDown") go(at + 1);
    else if (event.key === "ArrowUp") go(at - 1);
    else if (event.key === "PageDown") go(at + 15);
    else if (event.key === "PageUp") go(at - 15);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(outline.count - 1);
    else if (event.key === "ArrowRight" && opens(row) && !open) onTurn(row.key);
    else if (event.key === "ArrowLeft" && open) onTurn(row.key);
    else if (event.key === "ArrowLeft" && row.kind === "child") go(outline.find(row.fanOut));
    else return;
    event.preventDefault();
  };

  const grid = { gridTemplateColumns: tracks };
  return (
    <div
      ref={box}
      className={`table workflow-rows ${className}`}
      role="treegrid"
      aria-label={label}
      aria-rowcount={outline.count + 1}
      aria-activedescendant={seen.some((item) => item.index === at) ? `${id}-${at}` : undefined}
      tabIndex={0}
      onKeyDown={pressed}
    >
      <div role="rowgroup" className="table-head">
        <div role="row" className="tr" style={grid} aria-rowindex={1}>
          <span role="columnheader" className="td">
            Job
          </span>
          {heads}
        </div>
      </div>
      <div role="rowgroup" className="table-body" style={{ height: virtual.getTotalSize() }}>
        {seen.map((item) => {
          const row = outline.row(item.index);
          const own = idOf(row);
          return (
            <div
              key={item.key}
              id={`${id}-${item.index}`}
              role="row"
              aria-level={row.depth + 1}
              aria-rowindex={item.index + 2}
              aria-expanded={opens(row) ? isOpen(row.key, row.depth, turned) : undefined}
              aria-selected={own !== null && own === selected}
              className={`tr opens ${item.index === at ? "at" : ""} row-${row.kind}`}
              style={{ ...grid, height: rowHeight, transform: `translateY(${item.start}px)` }}
              data-row={row.key}
              data-id={own ?? undefined}
              onClick={() => {
                setAt(item.index);
                if (own) onSelect(own);
              }}
            >
              <span role="gridcell" className="td name" style={{ paddingLeft: 8 + row.depth * 16 }}>
                {opens(row) ? (
                  <button
                    type="button"
                    className="plain"
                    tabIndex={-1}
                    aria-label={`${isOpen(row.key, row.depth, turned) ? "Collapse" : "Expand"} ${wordsOf(row)}`}
                    onClick={(event) => {
                      event.stopPropagation();
                      onTurn(row.key);
                    }}
                  >
                    <Icon name={isOpen(row.key, row.depth, turned) ? "down" : "right"} size={12} />
                  </button>
                ) : (
                  <span className="no-turn" />
                )}
                <Name row={row} />
              </span>
              {cells(row)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Where a row is drawn. A sorted child may move while its page is loaded again, and must not be drawn twice under one key. */
const slotOf = (row: Row) => (row.kind === "child" ? `${row.fanOut}.${row.place}` : row.key);

/** The name of a row in the address, or null for a step, and while its job is loading. */
export function idOf(row: Row): string | null {
  if (row.kind === "step") return null;
  return row.kind === "job" ? row.job.id : row.kind === "fan-out" ? nameOfFanOut(row.fanOut.id) : (row.child?.id ?? null);
}

function opens(row: Row): boolean {
  if (row.kind === "job") return partsOf(row.job).length > 0;
  if (row.kind === "step") return false;
  return row.kind === "fan-out" ? childrenOf(row.fanOut) > 0 : row.child !== undefined && (row.child.fan_outs > 0 || row.child.steps);
}

function wordsOf(row: Row): string {
  if (row.kind === "step") return nameOfStep(row.step);
  return row.kind === "job" ? row.job.definition_key : row.kind === "fan-out" ? row.name : `${row.child?.definition_key ?? "job"} ${row.child?.fan_out_index ?? ""}`;
}

function Name({ row }: { row: Row }) {
  if (row.kind === "job") return <strong title={row.job.definition_key}>{row.job.definition_key}</strong>;
  if (row.kind === "fan-out")
    return (
      <>
        <Icon name="tree" size={14} />
        <span title={row.name}>{row.name}</span>
        <span className="quiet">{`× ${row.fanOut.total.toLocaleString()}`}</span>
        {row.shown > 0 && row.shown < row.fanOut.total && <span className="quiet">{`, ${row.shown.toLocaleString()} sorted`}</span>}
      </>
    );
  if (row.kind === "step")
    return (
      <>
        <Icon name={row.step.error ? "alert" : row.step.done ? "check" : "clock"} size={12} />
        <span title={nameOfStep(row.step)}>{nameOfStep(row.step)}</span>
      </>
    );
  return (
    <>
      <span className="mono quiet">{row.child?.fan_out_index}</span>
      <span title={row.child?.definition_key}>{row.child?.definition_key ?? "…"}</span>
      {row.child?.node && <Tag>{row.child.node}</Tag>}
    </>
  );
}

export const TREE_TRACKS = "minmax(200px, 2fr) 118px 76px 96px 96px minmax(120px, 2fr)";

export function TreeHeads(sorting: { chosen: Order; onChoose: (order: Order) => void }) {
  return (
    <>
      <SortHead by="status" title="Status" {...sorting} />
      <span role="columnheader" className="td right">
        Attempts
      </span>
      <SortHead by="wait" title="Wait" right {...sorting} />
      <SortHead by="duration" title="Run time" right {...sorting} />
      <span role="columnheader" className="td">
        Error
      </span>
    </>
  );
}

export function TreeCells({ row }: { row: Row }) {
  if (row.kind === "fan-out")
    return (
      <>
        <span role="gridcell" className="td fan-out-bar">
          <FanOutBar fanOut={row.fanOut} />
        </span>
        <span role="gridcell" className="td across quiet">
          <FanOutWords fanOut={row.fanOut} />
        </span>
      </>
    );
  if (row.kind === "step")
    return (
      <>
        <span role="gridcell" className="td">
          <Tag tone={row.step.error ? "bad" : row.step.done ? undefined : "warn"}>{row.step.kind}</Tag>
        </span>
        <span role="gridcell" className="td right">
          {row.step.attempt}
        </span>
        <span role="gridcell" className="td right quiet">
          –
        </span>
        <span role="gridcell" className="td right">
          {row.step.took_s === null && !row.step.done ? <Since from={row.step.at} /> : <Duration seconds={row.step.took_s} />}
        </span>
        <span role="gridcell" className="td">
          <span className="mono quiet" title={row.step.error ?? ""}>
            {row.step.error?.split("\n")[0] ?? ""}
          </span>
        </span>
      </>
    );
  const job = row.kind === "job" ? row.job : row.child;
  if (!job) return <span role="gridcell" className="td quiet across" aria-label="Loading" />;
  const began = "attempts" in job ? (job.attempts.find(({ claimed_at }) => claimed_at)?.started_at ?? (job.status === "running" ? job.run_at : null)) : job.started_at;
  return (
    <>
      <span role="gridcell" className="td">
        <Badge status={job.status} />
      </span>
      <span role="gridcell" className="td right">
        {job.attempt_count || "–"}
      </span>
      <span role="gridcell" className="td right">
        {waitOf(job, began)}
      </span>
      <span role="gridcell" className="td right">
        {began ? <Since from={began} to={job.finished_at} /> : "–"}
      </span>
      <span role="gridcell" className="td">
        <span className="mono quiet" title={job.last_error ?? ""}>
          {job.last_error?.split("\n")[0] ?? (job.wait_on ? `waiting for ${job.wait_on.split(" ")[0]!.replace("_", "-")}` : "")}
        </span>
      </span>
    </>
  );
}

/** The time until the first start. A job that ended without one has none. */
function waitOf(job: Child | JobPage, began: string | null): ReactNode {
  if ("wait_s" in job && job.wait_s === null) return "–";
  if ("wait_s" in job && began) return <Duration seconds={job.wait_s} />;
  const due = "scheduled_for" in job && job.scheduled_for && job.scheduled_for > job.created_at ? job.scheduled_for : job.created_at;
  return began || job.finished_at === null ? <Since from={due} to={began} /> : "–";
}

/** The progress of a fan-out, with a line at the number of successes that it needs. */
export function FanOutBar({ fanOut, label = "Sub-jobs" }: { fanOut: Counts; label?: string }) {
  const ended = fanOut.succeeded + fanOut.failed + fanOut.canceled;
  return (
    <div className="whole-bar" data-ended={ended} data-total={fanOut.total}>
      <Bar
        label={label}
        total={fanOut.total}
        needed={fanOut.needed}
        shares={[
          { status: "succeeded", count: fanOut.succeeded, label: "succeeded" },
          { status: "failed", count: fanOut.failed },
          { status: "canceled", count: fanOut.canceled },
          { status: "running", count: fanOut.running },
        ]}
      />
    </div>
  );
}

export type Counts = Pick<FanOut, "total" | "needed" | "succeeded" | "failed" | "canceled" | "running">;

export function FanOutWords({ fanOut }: { fanOut: FanOut }) {
  const open = fanOut.total - fanOut.succeeded - fanOut.failed - fanOut.canceled;
  return (
    <>
      <span>
        {[
          `${fanOut.succeeded.toLocaleString()} done`,
          fanOut.failed > 0 && `${fanOut.failed.toLocaleString()} failed`,
          fanOut.canceled > 0 && `${fanOut.canceled.toLocaleString()} canceled`,
          fanOut.running > 0 && `${fanOut.running.toLocaleString()} running`,
          open - fanOut.running > 0 && `${(open - fanOut.running).toLocaleString()} pending`,
        ]
          .filter(Boolean)
          .join(", ")}
      </span>
      <span>{`· ${ruleOf(fanOut)}`}</span>
      {fanOut.decision && <Tag tone={fanOut.decision === "succeeded" ? "good" : "bad"}>{fanOut.decision}</Tag>}
    </>
  );
}

/** The condition under which a fan-out succeeds. */
export function ruleOf({ strategy, needed, total }: FanOut): string {
  if (strategy === "threshold" || strategy === "quorum") return `${strategy}: ${needed.toLocaleString()} of ${total.toLocaleString()} needed`;
  return { fail_fast: "all must succeed", collect_all: "collects all results", nursery: "spawned jobs", after: "dependencies must finish" }[strategy] ?? strategy;
}
