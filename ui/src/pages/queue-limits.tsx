/** A queue's concurrency limit, rate limit and serial mode. */

import { useState } from "react";
import { useChange } from "../api/hooks";
import type { Queue } from "../api/types";
import { Confirm } from "../parts/Dialog";
import { NumberField } from "../parts/Fields";

export function QueueLimits({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const [serial, setSerial] = useState(queue.mode === "serial");
  const [running, setRunning] = useState(queue.max_running);
  const [count, setCount] = useState(queue.rate_count);
  const [period, setPeriod] = useState(queue.rate_period_seconds);
  const change = useChange("PATCH /queues/{name}", { success: `Limits of ${queue.name} saved.`, then: onClose });
  const half = (count === null) !== (period === null);
  const save = () =>
    change.mutate({
      path: { name: queue.name },
      body: { mode: serial ? "serial" : "parallel", max_running: running, rate_count: count, rate_period_seconds: period },
    });
  return (
    <Confirm title={`Limits of ${queue.name}`} action="Save limits" busy={change.isPending} disabled={half} onConfirm={save} onClose={onClose}>
      <p className="quiet">These limits apply to all tenants together. Default: no limit.</p>
      <NumberField label="Concurrency limit" value={running} least={0} onChange={setRunning} />
      <div className="fields two">
        <NumberField label="Rate limit (starts)" value={count} least={1} onChange={setCount} />
        <NumberField label="per (seconds)" value={period} least={1} onChange={setPeriod} />
      </div>
      {half && <p className="bad">A rate limit needs both a number of starts and a period. Set both, or neither.</p>}
      <label className="check">
        <input type="checkbox" checked={serial} onChange={(event) => setSerial(event.target.checked)} />
        Serial queue: run one workflow at a time
      </label>
      {serial && queue.mode !== "serial" && <p className="quiet">Workflows that have already started will be completed first, one at a time.</p>}
    </Confirm>
  );
}
