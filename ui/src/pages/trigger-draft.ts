/** A trigger while it is being edited: the text of its fields, and the request built from them. */

import { stringify } from "../api/json";
import type { Trigger } from "../api/types";
import { isObject, type Payload } from "../parts/SchemaForm";

export interface Draft {
  label: string;
  trigger_type: "event" | "schedule";
  event_name: string;
  way: "cron" | "every";
  cron_expr: string;
  every_seconds: string;
  timezone: string;
  definition_key: string;
  payload: Payload;
  queue: string;
  priority: string;
  max_attempts: string;
  timeout_seconds: string;
  dedupe_window_seconds: string;
  catch_up: string;
  catch_up_window_seconds: string;
  overlap: string;
  jitter_seconds: string;
  correlation_id: string;
  dedupe_key: string;
  limit_key: string;
}

const words = (value: unknown) => (value === null || value === undefined ? "" : String(value));

export function draftOf(trigger: Trigger | null): Draft {
  return {
    label: trigger?.label ?? "",
    trigger_type: trigger?.trigger_type === "event" ? "event" : "schedule",
    event_name: trigger?.event_name ?? "",
    way: trigger?.every_seconds != null ? "every" : "cron",
    cron_expr: trigger ? (trigger.cron_expr ?? "") : "0 2 * * *",
    every_seconds: words(trigger?.every_seconds),
    timezone: trigger ? (trigger.timezone ?? "") : Intl.DateTimeFormat().resolvedOptions().timeZone,
    definition_key: trigger?.definition_key ?? "",
    payload: isObject(trigger?.payload_template) ? trigger.payload_template : {},
    queue: trigger?.queue ?? "",
    priority: words(trigger?.priority),
    max_attempts: words(trigger?.max_attempts),
    timeout_seconds: words(trigger?.timeout_seconds),
    dedupe_window_seconds: words(trigger?.dedupe_window_seconds),
    catch_up: trigger?.catch_up ?? "none",
    catch_up_window_seconds: words(trigger?.catch_up_window_seconds),
    overlap: trigger?.overlap ?? "allow",
    jitter_seconds: words(trigger?.jitter_seconds || null),
    correlation_id: trigger?.correlation_id ?? "",
    dedupe_key: trigger?.dedupe_key ?? "",
    limit_key: trigger?.limit_key ?? "",
  };
}

const number = (text: string) => (text.trim() === "" ? null : Number(text));
const orNull = (text: string) => text.trim() || null;

/** The request. Null clears a setting. Empty settings that have a default and can't be cleared are omitted. */
export function requestOf(draft: Draft, isNew: boolean): Record<string, unknown> {
  const schedule = draft.trigger_type === "schedule";
  const given: Record<string, unknown> = {
    ...(isNew ? { label: draft.label.trim(), trigger_type: draft.trigger_type } : {}),
    definition_key: draft.definition_key,
    payload_template: draft.payload,
    queue: orNull(draft.queue),
    priority: number(draft.priority),
    max_attempts: number(draft.max_attempts),
    timeout_seconds: number(draft.timeout_seconds),
    correlation_id: orNull(draft.correlation_id),
    dedupe_key: orNull(draft.dedupe_key),
    limit_key: orNull(draft.limit_key),
    ...(schedule
      ? {
          cron_expr: draft.way === "cron" ? draft.cron_expr.trim() : null,
          every_seconds: draft.way === "every" ? number(draft.every_seconds) : null,
          timezone: orNull(draft.timezone),
          catch_up: draft.catch_up,
          catch_up_window_seconds: draft.catch_up === "window" ? number(draft.catch_up_window_seconds) : null,
          overlap: draft.overlap,
          jitter_seconds: number(draft.jitter_seconds) ?? 0,
        }
      : { event_name: draft.event_name.trim(), ...(draft.dedupe_window_seconds.trim() ? { dedupe_window_seconds: number(draft.dedupe_window_seconds) } : {}) }),
  };
  return isNew ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) : given;
}

/** Sample event data for a template: every path that the template uses, with the last part of the path as the value. */
export function sampleOf(template: unknown): Payload {
  const sample: Payload = {};
  for (const [, path] of stringify(template).matchAll(/\{\{\s*event\.([A-Za-z0-9_.-]+)\s*\}\}/g)) {
    const parts = path!.split(".");
    let at = sample;
    for (const part of parts.slice(0, -1)) at = (isObject(at[part]) ? at[part] : (at[part] = {})) as Payload;
    const last = parts.at(-1)!;
    if (at[last] === undefined && last !== "__proto__") at[last] = last;
  }
  return sample;
}
