/** Placeholders for a page without data: loading, failed, empty, not found. */

import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiError } from "../api/client";
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
    <Empty title={`${what.charAt(0).toUpperCase()}${what.slice(1)} not found`}>
      <p className="quiet">It may have been deleted by retention, or it belongs to another tenant.</p>
      <Link to="/">Go to the overview</Link>
    </Empty>
  );
}

export function Failed({ error, again }: { error: Error; again?: () => void }) {
  const request = error instanceof ApiError ? error.problem.request_id : null;
  return (
    <div className="state" role="alert">
      <Icon name="alert" size={22} />
      <h2>{error instanceof ApiError ? (error.problem.title ?? "Request failed") : "Server unreachable"}</h2>
      <p className="quiet">{error instanceof ApiError ? error.message : "The server did not respond. Retrying."}</p>
      {request && <p className="quiet mono">Request id: {request}</p>}
      {again && (
        <Button icon="retry" onClick={again}>
          Retry
        </Button>
      )}
    </div>
  );
}

/** Renders the query's data, or its loading or error state. After a failed refetch, the older data stays visible. */
export function Loaded<T>({ query, what = "page", children }: { query: UseQueryResult<T, Error>; what?: string; children: (answer: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.error instanceof ApiError && query.error.status === 404) return <NotFound what={what} />;
  if (query.error) return <Failed error={query.error} again={() => void query.refetch()} />;
  return <Loading />;
}
