// Outcomes of attempts, and the errors that a handler throws to choose its outcome.

import { PlaitError } from "./errors.js";
import type { Complete, Fail, Release, SkipIt } from "./types.js";

/** Fail the job without further attempts. */
export class PermanentError extends PlaitError {}

/** Fail this attempt and retry after `delaySeconds`. The attempt counts against `maxAttempts`. */
export class RetryLater extends PlaitError {
  constructor(
    readonly delaySeconds: number,
    message = "",
  ) {
    super(message);
  }
}

/** Run the job again after `delaySeconds`. The attempt does not count against `maxAttempts`. */
export class Snooze extends PlaitError {
  constructor(readonly delaySeconds: number) {
    super(`snoozed for ${delaySeconds} s`);
  }
}

/** Skip the job, because there is nothing to do. */
export class Skip extends PlaitError {}

/** The `reason` of a job's AbortSignal when the worker has stopped the handler. */
export class Stopped extends PlaitError {
  constructor(readonly why: "canceled" | "lost" | "timeout" | "shutdown") {
    super(MESSAGES[why]);
  }
}

const MESSAGES = {
  canceled: "the job was canceled",
  lost: "the lease was lost: another worker may run the job",
  timeout: "the job exceeded its timeout",
  shutdown: "the worker is shutting down",
};
/** The server's limits, in characters. */
const LONGEST = { error: 10_000, traceback: 60_000 };

type Fence = "worker" | "attempt";

export type Outcome =
  | { verb: "complete"; body: Omit<Complete, Fence> }
  | { verb: "fail"; body: Omit<Fail, Fence> }
  | { verb: "release"; body: Omit<Release, Fence> }
  | { verb: "skip"; body: Omit<SkipIt, Fence> };

/** The outcome for an error. `stopped`: the reason if the worker stopped the handler. */
export function outcomeOf(error: unknown, stopped: Stopped | undefined): Outcome {
  switch (stopped?.why) {
    case "timeout":
      return { verb: "fail", body: { ...described(error), timeout: true } };
    case "canceled":
      return { verb: "fail", body: { ...described(error), reason: "canceled" } };
    case "shutdown":
      return { verb: "release", body: {} };
  }
  if (error instanceof Skip) {
    return { verb: "skip", body: { reason: cut(error.message, LONGEST.error) } };
  }
  if (error instanceof Snooze) {
    return { verb: "release", body: { delay_seconds: error.delaySeconds } };
  }
  if (error instanceof RetryLater) {
    return { verb: "fail", body: { ...described(error), delay_seconds: error.delaySeconds } };
  }
  return { verb: "fail", body: { ...described(error), permanent: error instanceof PermanentError } };
}

export function failedFor(reason: string, error: string): Outcome {
  return { verb: "fail", body: { error: cut(error, LONGEST.error), reason, permanent: true } };
}

function described(error: unknown): { error: string; traceback: string | null } {
  try {
    if (error instanceof Error) {
      const text = `${error.name}: ${error.message}`;
      return { error: cut(text, LONGEST.error), traceback: cut(error.stack ?? "", LONGEST.traceback) || null };
    }
    return { error: cut(String(error), LONGEST.error), traceback: null };
  } catch {
    return { error: "the handler threw a value that can't be shown", traceback: null };
  }
}

/** Truncate, and replace lone surrogates, which the database rejects. */
function cut(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}
