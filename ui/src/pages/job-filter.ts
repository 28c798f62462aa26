/** Which jobs: one shape for the address, the tokens that one types, and the API's query. */

import { list, searchOf, text } from "../api/search";
import type { BulkFilter, Routes, Status } from "../api/types";
import { STATUSES } from "../parts/Badge";
import type { Field, Token } from "../parts/Tokens";

export type JobQuery = Omit<Routes["GET /jobs"]["query"], "tenant" | "cursor" | "limit" | "offset">;

/** What the address of the jobs page has. `cols` is which columns are shown. */
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

/** The address's part of a jobs page with these filters. */
export const jobsWith = (wanted: Partial<JobSearch>) => jobParams.link(wanted);

/** Known values, for suggestions. */
export interface Known {
  queues: readonly string[];
  definitions: readonly string[];
}

export function fieldsOf({ queues, definitions }: Known): Field[] {
  return [
    { key: "status", about: "where it is", values: STATUSES, many: true },
    { key: "definition", about: "kind of job", values: definitions },
    { key: "queue", about: "", values: queues },
    { key: "source", about: "what asked for it", values: ["manual", "event", "schedule", "system"] },
    { key: "payload", about: "a value in its payload: order.id=42", many: true },
    { key: "worker", about: "where it runs or ran last" },
    { key: "parent", about: "its sub-jobs" },
    { key: "root", about: "a whole workflow" },
    { key: "fan-out", about: "one batch of sub-jobs" },
    { key: "sub-jobs", about: "has some, or none", values: ["yes", "no"] },
    { key: "correlation", about: "correlation id" },
    { key: "after", about: "asked for since: 1h, 2d, 2026-01-31", values: ["15min", "1h", "24h", "7d"] },
    { key: "before", about: "asked for before: 1h, 2d, 2026-01-31", values: ["1h", "24h", "7d"] },
    { key: "error", about: "failed with an error of this kind" },
    { key: "q", about: "text in definition, correlation id, dedupe key; or an id" },
  ];
}

export function tokensOf(search: JobSearch): Token[] {
  return KEYS.flatMap((key) => {
    const value = search[key];
    return Array.isArray(value) ? value.map((one) => [key, one] as const) : value ? [[key, value] as const] : [];
  });
}

/** The filters as the address has them; keys without a token are emptied. */
export function searchOfTokens(tokens: readonly Token[]): Partial<JobSearch> {
  const found = (key: FilterKey) => tokens.filter(([own]) => own === key).map(([, value]) => value);
  return Object.fromEntries(KEYS.map((key) => [key, key === "status" || key === "payload" ? found(key) : (found(key).at(-1) ?? "")]));
}

/** What the API is asked; a value that can't be meant is left out, and `wrong` says so. */
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

/** "2h" is two hours ago; else a date, as the browser reads it. */
function moment(text: string, now: number): string | undefined {
  const ago = /^(\d+)\s*(s|min|m|h|d)$/.exec(text);
  const at = ago ? now - Number(ago[1]) * UNITS[ago[2]!]! : Date.parse(text);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
