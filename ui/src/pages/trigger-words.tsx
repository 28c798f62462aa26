/** Texts for triggers: when they fire, their state, and the outcome of a firing. */

import type { Fire, Trigger } from "../api/types";
import { Tag } from "../parts/Badge";
import { CronWords } from "../parts/Cron";

export const CATCH_UP: Record<string, string> = { none: "skip all missed times", one: "fire once", all: "fire for each missed time", window: "fire for each missed time within the window" };
export const OVERLAP: Record<string, string> = { allow: "allow: run concurrently", skip: "skip: drop this firing", queue: "queue: run after the previous job" };
const TONES: Record<string, "good" | "warn" | "bad" | undefined> = { enqueued: "good", refused: "bad", skipped: "warn", held: "warn" };

export const outcome = (fire: Fire) => <Tag tone={TONES[fire.outcome]}>{fire.outcome}</Tag>;

export function When({ trigger }: { trigger: Trigger }) {
  if (trigger.trigger_type === "event")
    return (
      <span title={trigger.event_name ?? ""}>
        on <code>{trigger.event_name}</code>
      </span>
    );
  return <CronWords cron={trigger.cron_expr} every={trigger.every_seconds} timezone={trigger.timezone} />;
}

export function State({ trigger }: { trigger: Trigger }) {
  if (trigger.error) return <Tag tone="bad" title={trigger.error}>failing</Tag>;
  return trigger.is_enabled ? <Tag tone="good">active</Tag> : <Tag tone="warn">paused</Tag>;
}
