/** What a page shows while it has nothing to show: loading, an error, nothing there. */

import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Refusal } from "../api/client";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";

export function Loading() {
  return (
    <div className="state" role="status" aria-label="Loading">
      <span className="spinner" />
    </div>
  );
}

export function Empty({ title, icon = "search", children }: { title: string; icon?: IconName; children?: ReactNode }) {
  return (
    <div className="state">
      <Icon name={icon} size={22} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function NotFound({ what }: { what: string }) {
  return (
    <Empty title={`There is no such ${what}`}>
      <p className="quiet">It may have been forgotten after its time, or be another tenant's.</p>
      <Link to="/">To the overview</Link>
    </Empty>
  );
}

export function Failed({ error, again }: { error: Error; again?: () => void }) {
  const request = error instanceof Refusal ? error.problem.request_id : null;
  return (
    <div className="state" role="alert">
      <Icon name="alert" size={22} />
      <h2>{error instanceof Refusal ? (error.problem.title ?? "Refused") : "No answer"}</h2>
      <p className="quiet">{error instanceof Refusal ? error.message : "The server can't be reached. This page tries again."}</p>
      {request && <p className="quiet mono">request {request}</p>}
      {again && (
        <Button icon="retry" onClick={again}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A query's answer where there is one; else why not. An error beside an older answer leaves the answer. */
export function Answered<T>({ query, what = "page", children }: { query: UseQueryResult<T, Error>; what?: string; children: (answer: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.error instanceof Refusal && query.error.status === 404) return <NotFound what={what} />;
  if (query.error) return <Failed error={query.error} again={() => void query.refetch()} />;
  return <Loading />;
}
