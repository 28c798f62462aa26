import type { Problem, Status } from "./types.js";

/** The base class of all errors of this package. */
export class PlaitError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** Settings are missing or invalid. The message lists every fault. */
export class InvalidSettings extends PlaitError {}

/** This package needs an API key, which a browser must not have. Use it on a server. */
export class BrowserRefused extends PlaitError {
  constructor() {
    super("plait-client must not run in a browser, because it would expose the API key: use it on a server");
  }
}

/** A payload or a result does not match its schema. */
export class SchemaMismatch extends PlaitError {
  constructor(
    what: string,
    readonly issues: readonly { readonly message: string; readonly path: string }[],
  ) {
    super(`${what}: ${issues.map(({ message, path }) => (path ? `${path}: ${message}` : message)).join("; ")}`);
  }
}

/** The server did not respond. The request may or may not have been processed. */
export class Unreachable extends PlaitError {}

/** The caller's timeout expired. */
export class TimedOut extends PlaitError {}

/** The server responded with an error. Programs should test `code`; the message is for people. */
export class Refused extends PlaitError {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly problem: Partial<Problem>,
    /** Seconds to wait before a retry, if the server sent them. */
    readonly retryAfter: number | undefined,
  ) {
    super(detail);
  }

  get requestId(): string | undefined {
    return this.problem.request_id ?? undefined;
  }
}

/** The API key is unknown, revoked or expired. */
export class NotSignedIn extends Refused {}
/** The API key's role does not allow this. */
export class NotAllowed extends Refused {}
/** The object does not exist, or belongs to another tenant. */
export class NotFound extends Refused {}
/** The object's current state does not allow this. */
export class Conflict extends Refused {}
/** The object has changed since it was read. Read it again. */
export class ChangedMeanwhile extends Refused {}
/** The request is larger than the server's limit. */
export class TooLarge extends Refused {}
/** The request is invalid. The message lists the fields. */
export class NotValid extends Refused {}
/** A rate limit or a quota is exceeded. `retryAfter`: seconds to wait, if the server sent them. */
export class TooMany extends Refused {}
/** The server is temporarily unavailable. */
export class NotAvailable extends Refused {}

/** Another worker holds this job now. Stop, and report no outcome. */
export class LeaseLost extends Conflict {}

/** The job is final and did not succeed. */
export class JobFailed extends PlaitError {
  constructor(
    readonly jobId: string,
    readonly status: Status,
    readonly reason: string | null,
    readonly error: string | null,
  ) {
    super(`job ${jobId} is ${status}${error ? `: ${error}` : ""}`);
  }
}

const BY_STATUS: Readonly<Record<number, typeof Refused>> = {
  401: NotSignedIn,
  403: NotAllowed,
  404: NotFound,
  409: Conflict,
  412: ChangedMeanwhile,
  413: TooLarge,
  422: NotValid,
  429: TooMany,
};
const LOST = new Set(["lease-lost", "worker-lost"]);

/** The error for an error response. A body that is not problem+json comes from a proxy. */
export function refusal(status: number, body: string, retryAfter: number | undefined): Refused {
  const problem = parsed(body);
  const code = problem.type?.split(":").at(-1) ?? "http";
  const detail = problem.detail ?? problem.title ?? `the server responded with status ${status}`;
  const parts = (problem.errors ?? []).map((one) => `${String(one["at"])}: ${String(one["message"])}`);
  const Kind = LOST.has(code) ? LeaseLost : (BY_STATUS[status] ?? (status >= 500 ? NotAvailable : Refused));
  return new Kind(status, code, [detail, ...parts].join("; "), problem, retryAfter);
}

function parsed(body: string): Partial<Problem> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
