/** The errors of a rejected request, by field: `{ "/width": "is required" }`. The keys are JSON pointers in the payload. */

import { ApiError } from "../api/client";
import { stringify } from "../api/json";

export type FieldErrors = Record<string, string>;

/**
 * The errors of the fields below `prefix`, which is the payload's JSON pointer in the request. The error of a field is left out once its value
 * differs from the one in the rejected request.
 */
export function fieldErrors(error: Error | null, prefix: string, sent: unknown, now: unknown): FieldErrors {
  if (!(error instanceof ApiError) || !Array.isArray(error.problem.errors)) return {};
  const found: FieldErrors = {};
  for (const { pointer, message } of error.problem.errors) {
    if (typeof pointer !== "string" || typeof message !== "string" || !(pointer === prefix || pointer.startsWith(`${prefix}/`))) continue;
    const path = pointer.slice(prefix.length);
    if (shown(at(sent, path)) === shown(at(now, path))) found[path] ??= message;
  }
  return found;
}

/** The name of a property as a part of a JSON pointer. */
export const pointerPart = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");

const shown = (value: unknown) => (value === undefined ? "" : stringify(value));

function at(value: unknown, path: string): unknown {
  let found = value;
  for (const part of path.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}
