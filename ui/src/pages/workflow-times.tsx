/** How long the sub-jobs of a fan-out waited and ran, over all of them, and the slowest ten. */

import { useRead } from "../api/hooks";
import type { FanOut, FanOutTimes } from "../api/types";
import { Badge } from "../parts/Badge";
import { Facts } from "../parts/Page";
import { Duration, duration } from "../parts/Time";

const SLOWEST = 10;
const EVERY_MS = 3000;

interface Props {
  /** The job that has the fan-out. */
  parent: string;
  fanOut: FanOut;
  onSelect: (id: string) => void;
}

export function ChildTimes({ parent, fanOut, onSelect }: Props) {
  const live = { live: ["job"] as const, when: (event: { fan_out_id?: string | null }) => event.fan_out_id === fanOut.id, every: EVERY_MS };
  const path = { job_id: parent };
  const times = useRead("GET /jobs/{job_id}/children/times", { path, query: { fan_out: fanOut.id } }, live);
  const slowest = useRead("GET /jobs/{job_id}/children", { path, query: { fan_out: fanOut.id, sort: "duration", descending: true, limit: SLOWEST } }, live);
  const found = times.data;
  const items = slowest.data?.items.filter(({ run_s }) => run_s !== null) ?? [];
  if (!found?.started) return null;
  return (
    <>
      <section aria-label="Times">
        <Facts
          facts={[
            ["Run time p50", found.ran > 0 && <Duration seconds={found.run_p50_s} />],
            ["Run time p95", found.ran > 0 && <Duration seconds={found.run_p95_s} />],
            ["Wait p50", <Duration seconds={found.wait_p50_s} />],
            ["Wait p95", <Duration seconds={found.wait_p95_s} />],
          ]}
        />
        <p className="quiet">{counted(found)}</p>
      </section>
      {items.length > 0 && (
        <section aria-label="Slowest sub-jobs">
          <h3>{items.length < SLOWEST ? "Slowest sub-jobs" : `Slowest ${SLOWEST} sub-jobs`}</h3>
          <ol className="slowest">
            {items.map((child) => (
              <li key={child.id}>
                <button type="button" className="plain" onClick={() => onSelect(child.id)}>
                  <Badge status={child.status}>
                    {child.definition_key} {child.fan_out_index}
                  </Badge>
                  <span className="right">{`${duration(child.run_s!)}${child.finished_at ? "" : " so far"}`}</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

/** The sub-jobs that the numbers describe, and those that they leave out. */
function counted({ total, children, ran, unfinished, never_ran }: FanOutTimes): string {
  const left = [
    unfinished > 0 && `${unfinished.toLocaleString()} unfinished`,
    never_ran > 0 && `${never_ran.toLocaleString()} never started`,
    children < total && `${(total - children).toLocaleString()} not read`,
  ].filter(Boolean);
  return `Run times of ${ran.toLocaleString()} finished sub-jobs${left.length ? `; not counted: ${left.join(", ")}` : ""}.`;
}
