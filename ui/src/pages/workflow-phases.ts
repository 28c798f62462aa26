/** The phases of a job over time: queued, running, in backoff, waiting. */

import type { Attempt, Span, Status } from "../api/types";

export type PhaseKind = "queue" | "run" | "backoff" | "wait";

export interface Phase {
  kind: PhaseKind;
  /** ms */
  from: number;
  to: number;
  /** The outcome of the attempt, or `running`. */
  status?: string;
  attempt?: number;
}

export const PHASES: Record<PhaseKind, string> = {
  queue: "queued",
  run: "running",
  backoff: "scheduled or in backoff",
  wait: "waiting",
};

export interface Timed {
  status: Status;
  created_at: string;
  /** When the job is due, or when it entered its current status. */
  since: string | null;
  attempts: readonly (Span | Attempt)[];
}

const AFTER: Record<string, PhaseKind> = { suspended: "wait", failed: "backoff", timeout: "backoff", lost: "backoff", snoozed: "backoff" };

export function phasesOf({ status, created_at, since, attempts }: Timed, now: number): Phase[] {
  const found: Phase[] = [];
  let at = Date.parse(created_at);
  let between: PhaseKind = status === "scheduled" && !attempts.length ? "backoff" : "queue";
  const add = (phase: Phase) => {
    if (phase.to > phase.from) found.push(phase);
    at = Math.max(at, phase.to);
  };
  for (const one of attempts) {
    const began = one.started_at ?? one.claimed_at;
    const ended = Date.parse(one.finished_at);
    add({ kind: between, from: at, to: began ? Date.parse(began) : ended });
    if (began) add({ kind: "run", from: Date.parse(began), to: Math.max(ended, Date.parse(began) + 0.5), status: one.status, attempt: one.attempt_no });
    between = AFTER[one.status] ?? "queue";
  }
  const moved = since === null ? at : Math.max(at, Date.parse(since));
  if (status === "queued") {
    add({ kind: between, from: at, to: moved });
    add({ kind: "queue", from: moved, to: now });
  } else if (status === "running") {
    add({ kind: between, from: at, to: moved });
    add({ kind: "run", from: moved, to: now, status: "running", attempt: (attempts.at(-1)?.attempt_no ?? 0) + 1 });
  } else if (status === "scheduled") add({ kind: "backoff", from: at, to: now });
  else if (status === "waiting") add({ kind: "wait", from: at, to: now });
  return found;
}
