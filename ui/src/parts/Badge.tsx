import type { ReactNode } from "react";
import type { Status } from "../api/types";

/** All statuses, in the order of a job's lifecycle. docs/reference/states.md explains them. */
export const STATUSES: readonly Status[] = [
  "scheduled",
  "queued",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "dead_letter",
  "canceled",
  "skipped",
];
export const LIVE: readonly Status[] = ["scheduled", "queued", "running", "waiting"];
export const isFinal = (status: Status) => !LIVE.includes(status);
export const wordOf = (status: string) => status.replaceAll("_", " ");

/** A status as a colored dot and text, so that it is readable without the color. */
export function Badge({ status, children }: { status: string; children?: ReactNode }) {
  return (
    <span className={`badge s-${status}`} data-status={status}>
      <span className="dot" aria-hidden="true" />
      {children ?? wordOf(status)}
    </span>
  );
}

/** A small framed label, for a type, a source or a mode. */
export function Tag({ children, title, tone }: { children: ReactNode; title?: string; tone?: "good" | "warn" | "bad" }) {
  return (
    <span className={`tag ${tone ?? ""}`} title={title}>
      {children}
    </span>
  );
}
