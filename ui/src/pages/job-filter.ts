/** The filter for jobs in its three forms: URL parameters, tokens and the API's query. */

import { list, searchOf, text } from "../api/search";
import type { BulkFilter, Routes, Status } from "../api/types";
import { STATUSES } from "../parts/Badge";
import type { Field, Token } from "../parts/Tokens";

export type JobQuery = Omit<Routes["GET /jobs"]["query"], "tenant" | "cursor" | "limit" | "offset">;

/** The query parameters of the jobs page. `cols` lists the visible columns. */
export const jobParams = searchOf({
  status: list,
  source: text,
  queue: text,
  definition: text,
  worker: text,
  correlation: text,
  parent: text,
  root: text,
  "fan-out": text,
  "sub-jobs": text,
  after: text,
  before: text,
  error: text,
  payload: list,
  q: text,
  cols: text,
});

export type JobSearch = ReturnType<typeof jobParams.use>[0];
type FilterKey = Exclude<keyof JobSearch, "cols">;

const KEYS: readonly FilterKey[] = [
  "status",
  "source",
  "queue",
  "definition",
  "worker",
  "correlation",
  "parent",
  "root",
  "fan-out",
  "sub-jobs",
  "after",
  "before",
  "error",
  "payload",
  "q",
];

/** The query parameters of a link to the jobs page with these filters. */
export const jobsWith = (wanted: Partial<JobSearch>) => jobParams.link(wanted);

/** Known values, for suggestions. */
export interface Known {
  queues: readonly string[];
  definitions: readonly string[];
}

export function fieldsOf({ queues, definitions }: Known): Field[] {
  return [
    { key: "status", about: "job status", values: STATUSES, many: true },
    { key: "definition", about: "job definition", values: definitions },
    { key: "queue", about: "queue name", values: queues },
    { key: "source", about: "how the job was enqueued", values: ["manual", "event", "schedule", "system"] },
    { key: "payload", about: "a value in the payload, such as order.id=42", many: true },
    { key: "worker", about: "id of the current or last worker" },
    { key: "parent", about: "sub-jobs of the job with this id" },
    { key: "root", about: "all jobs of this workflow" },
    { key: "fan-out", about: "sub-jobs of this fan-out" },
    { key: "sub-jobs", about: "whether the job has sub-jobs", values: ["yes", "no"] },
    { key: "correlation", about: "correlation id" },
    { key: "after", about: "enqueued after this date, or within this time: 2026-01-31, 1h, 2d", values: ["15min", "1h", "24h", "7d"] },
    { key: "before", about: "enqueued before this date, or longer ago than this: 2026-01-31, 1h, 2d", values: ["1h", "24h", "7d"] },
    { key: "error", about: "error fingerprint" },
    { key: "q", about: "text in the definition, correlation id or dedupe key, or the id of a job" },
  ];
}

export function tokensOf(search: JobSearch): Token[] {
  return KEYS.flatMap((key) => {
    const value = search[key];
    return Array.isArray(value) ? value.map((one) => [key, one] as const) : value ? [[key, value] as const] : [];
  });
}

/** Query parameters from tokens. Parameters without a token are cleared. */
export function searchOfTokens(tokens: readonly Token[]): Partial<JobSearch> {
  const found = (key: FilterKey) => tokens.filter(([own]) => own === key).map(([, value]) => value);
  return Object.fromEntries(KEYS.map((key) => [key, key === "status" || key === "payload" ? found(key) : (found(key).at(-1) ?? "")]));
}

/** The API's query. Invalid values are ignored and listed in `wrong`. */
export function queryOf(search: JobSearch, now: number): { query: JobQuery; wrong: string[] } {
  const wrong: string[] = [];
  const checked = <T>(key: string, given: string, value: T | undefined): T | undefined => {
    if (given && value === undefined) wrong.push(`${key}:${given}`);
    return given ? value : undefined;
  };
  const status = search.status.filter((one): one is Status => STATUSES.includes(one as Status) || (wrong.push(`status:${one}`), false));
  const uuid = (key: "parent" | "root" | "fan-out") => checked(key, search[key], UUID.test(search[key]) ? search[key] : undefined);
  const query: JobQuery = {
    status: status.length ? status : undefined,
    source: search.source || undefined,
    queue: search.queue || undefined,
    definition_key: search.definition || undefined,
    worker: checked("worker", search.worker, /^\d{1,9}$/.test(search.worker) ? Number(search.worker) : undefined),
    correlation_id: search.correlation || undefined,
    parent: uuid("parent"),
    root: uuid("root"),
    fan_out: uuid("fan-out"),
    has_sub_jobs: checked("sub-jobs", search["sub-jobs"], { yes: true, no: false }[search["sub-jobs"]]),
    created_after: checked("after", search.after, moment(search.after, now)),
    created_before: checked("before", search.before, moment(search.before, now)),
    error: search.error || undefined,
    payload: search.payload.length ? search.payload : undefined,
    search: search.q || undefined,
  };
  return { query, wrong };
}

export function bulkFilterOf(query: JobQuery): BulkFilter {
  return query;
}

export const isFiltered = (query: JobQuery) => Object.values(query).some((value) => value !== undefined);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const UNITS: Record<string, number> = { s: 1000, min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "2h" is two hours ago. Anything else is parsed as a date. */
function moment(text: string, now: number): string | undefined {
  const ago = /^(\d+)\s*(s|min|m|h|d)$/.exec(text);
  const at = ago ? now - Number(ago[1]) * UNITS[ago[2]!]! : Date.parse(text);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
