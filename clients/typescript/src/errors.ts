import type { Problem, Status } from "./types.js";

/** Everything that this package throws by itself. */
export class PlaitError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The settings are not usable as they are; the message names all that is wrong. */
export class InvalidSettings extends PlaitError {}

/** A key must not be shown to a browser: use this package on a server. */
export class BrowserRefused extends PlaitError {
  constructor() {
    super("plait-client holds a key that a browser must never see: use it on a server, and let the browser ask that");
  }
}

/** A payload or a result does not fit its schema. */
export class SchemaMismatch extends PlaitError {
  constructor(
    what: string,
    readonly issues: readonly { readonly message: string; readonly path: string }[],
  ) {
    super(`${what}: ${issues.map(({ message, path }) => (path ? `${path}: ${message}` : message)).join("; ")}`);
  }
}

/** No answer came: whether the server has done what was asked is not known. */
export class Unreachable extends PlaitError {}

/** It took longer than the caller wanted to wait. */
export class TimedOut extends PlaitError {}

/** The server refused: `code` is for programs, the message for people. */
export class Refused extends PlaitError {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly problem: Partial<Problem>,
    /** Seconds after which it may be tried again, where the server said so. */
    readonly retryAfter: number | undefined,
  ) {
    super(detail);
  }

  get requestId(): string | undefined {
    return this.problem.request_id ?? undefined;
  }
}

export class NotSignedIn extends Refused {}
export class NotAllowed extends Refused {}
export class NotFound extends Refused {}
export class Conflict extends Refused {}
export class ChangedMeanwhile extends Refused {}
export class TooLarge extends Refused {}
export class NotValid extends Refused {}
export class TooMany extends Refused {}
export class NotAvailable extends Refused {}

/** Another worker holds this job now. Stop, and report no outcome. */
export class LeaseLost extends Conflict {}

/** The job has ended, and not by succeeding. */
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

/** The error that an answer stands for. What is not problem+json comes from something between us and the server. */
export function refusal(status: number, body: string, retryAfter: number | undefined): Refused {
  const problem = parsed(body);
  const code = problem.type?.split(":").at(-1) ?? "http";
  const detail = problem.detail ?? problem.title ?? `the server answered ${status}`;
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
