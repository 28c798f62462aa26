// What a handler throws to decide what becomes of its job, and what each way to end says to the server.

import { PlaitError } from "./errors.js";
import type { Complete, Fail, Release, SkipIt } from "./types.js";

/** It will fail again: no further try. */
export class PermanentError extends PlaitError {}

/** Failed, and to be tried again after so many seconds; it burns a try. */
export class RetryLater extends PlaitError {
  constructor(
    readonly delaySeconds: number,
    message = "",
  ) {
    super(message);
  }
}

/** Not now: again after so many seconds, without burning a try. */
export class Snooze extends PlaitError {
  constructor(readonly delaySeconds: number) {
    super(`snoozed for ${delaySeconds} s`);
  }
}

/** There was nothing to do. */
export class Skip extends PlaitError {}

/** Why a job's AbortSignal fires. */
export class Stopped extends PlaitError {
  constructor(readonly why: "canceled" | "lost" | "timeout" | "shutdown") {
    super(MESSAGES[why]);
  }
}

const MESSAGES = {
  canceled: "somebody has canceled the job",
  lost: "the lease is lost: the job is another worker's now",
  timeout: "the job ran for longer than it may",
  shutdown: "the worker ends",
};
/** As the server takes them. */
const LONGEST = { error: 10_000, traceback: 60_000 };

type Said = "worker" | "attempt";

export type Outcome =
  | { verb: "complete"; body: Omit<Complete, Said> }
  | { verb: "fail"; body: Omit<Fail, Said> }
  | { verb: "release"; body: Omit<Release, Said> }
  | { verb: "skip"; body: Omit<SkipIt, Said> };

/** What an error makes of the job; `stopped` where the worker itself wanted the handler to end. */
export function outcomeOf(error: unknown, stopped: Stopped | undefined): Outcome {
  switch (stopped?.why) {
    case "timeout":
      return { verb: "fail", body: { ...told(error), timeout: true } };
    case "canceled":
      return { verb: "fail", body: { ...told(error), reason: "canceled" } };
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
    return { verb: "fail", body: { ...told(error), delay_seconds: error.delaySeconds } };
  }
  return { verb: "fail", body: { ...told(error), permanent: error instanceof PermanentError } };
}

export function failedFor(reason: string, error: string): Outcome {
  return { verb: "fail", body: { error: cut(error, LONGEST.error), reason, permanent: true } };
}

function told(error: unknown): { error: string; traceback: string | null } {
  try {
    if (error instanceof Error) {
      const text = `${error.name}: ${error.message}`;
      return { error: cut(text, LONGEST.error), traceback: cut(error.stack ?? "", LONGEST.traceback) || null };
    }
    return { error: cut(String(error), LONGEST.error), traceback: null };
  } catch {
    return { error: "the handler threw something that can't be shown", traceback: null };
  }
}

/** Cut to length, and without half a character: a lone surrogate is no text to the database. */
function cut(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}
