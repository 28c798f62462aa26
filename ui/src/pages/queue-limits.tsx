/** How many of a queue's jobs may run at once, how many may start in a time, and whether its workflows run one after the other. */

import { useState } from "react";
import { useChange } from "../api/hooks";
import type { Queue } from "../api/types";
import { Confirm } from "../parts/Dialog";
import { Whole } from "../parts/Fields";

export function QueueLimits({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const [serial, setSerial] = useState(queue.mode === "serial");
  const [running, setRunning] = useState(queue.max_running);
  const [count, setCount] = useState(queue.rate_count);
  const [period, setPeriod] = useState(queue.rate_period_seconds);
  const change = useChange("PATCH /queues/{name}", { said: `${queue.name} is changed.`, then: onClose });
  const half = (count === null) !== (period === null);
  const save = () =>
    change.mutate({
      path: { name: queue.name },
      body: { mode: serial ? "serial" : "parallel", max_running: running, rate_count: count, rate_period_seconds: period },
    });
  return (
    <Confirm title={`Limits of ${queue.name}`} action="Save" busy={change.isPending} disabled={half} onConfirm={save} onClose={onClose}>
      <p className="quiet">They hold for all tenants together. What is left empty is not limited.</p>
      <Whole label="Running at once" value={running} least={0} onChange={setRunning} />
      <div className="fields two">
        <Whole label="Starts" value={count} least={1} onChange={setCount} />
        <Whole label="in so many seconds" value={period} least={1} onChange={setPeriod} />
      </div>
      {half && <p className="bad">A rate is a number of starts in a number of seconds: say both, or neither.</p>}
      <label className="check">
        <input type="checkbox" checked={serial} onChange={(event) => setSerial(event.target.checked)} />
        Serial: one workflow at a time
      </label>
      {serial && queue.mode !== "serial" && <p className="quiet">What has begun is finished first, one tree after the other.</p>}
    </Confirm>
  );
}
