/** One worker: its running jobs and its definitions, or how it ended and the jobs that were assigned to it then. */

import { Link } from "@tanstack/react-router";
import { useRead } from "../api/hooks";
import type { Worker, WorkerPage } from "../api/types";
import { Badge } from "../parts/Badge";
import { Id } from "../parts/Code";
import { Dialog } from "../parts/Dialog";
import { Facts } from "../parts/Page";
import { Loaded } from "../parts/States";
import { Since, Time } from "../parts/Time";
import { jobsWith } from "./job-filter";
import { useTenantNames } from "./tenant-names";
import { movedOf, reasonOf, WorkerState } from "./worker-words";
import "./workers.css";

export function WorkerDialog({ id, onClose }: { id: number; onClose: () => void }) {
  const found = useRead("GET /workers/{worker_id}", { path: { worker_id: id } }, { live: ["worker"], when: (event) => event.id === String(id), every: 500, poll: 5000 });
  return (
    <Dialog title={`Worker ${id}`} className="wide" onClose={onClose}>
      <Loaded query={found} what="worker">
        {(worker) => (
          <div className="one">
            <WorkerFacts worker={worker} />
            {worker.state === "alive" ? <Running worker={worker} /> : <LastJobs worker={worker} />}
            <Link to="/jobs" search={jobsWith({ worker: String(worker.worker_id) }) as never}>
              Show all jobs whose last attempt ran on this worker
            </Link>
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

function WorkerFacts({ worker }: { worker: Worker }) {
  const alive = worker.state === "alive";
  return (
    <Facts
      facts={[
        ["State", <WorkerState worker={worker} />],
        ["Host", `${worker.hostname}, pid ${worker.pid}`],
        ["Version", [worker.version, worker.build && `build ${worker.build}`].filter(Boolean).join(", ")],
        ["Started", <Time at={worker.started_at} />],
        ["Last heartbeat", !alive && <Time at={worker.last_seen_at} />],
        ["Lease expires", alive && <Time at={worker.lease_expires_at} />],
        ["Ended", worker.ended_at && <Time at={worker.ended_at} />],
        ["Reason", reasonOf(worker)],
        [
          "Blocked by",
          !alive && worker.blocked_job_id && (
            <Link to="/jobs/$jobId" params={{ jobId: worker.blocked_job_id }}>
              <Id id={worker.blocked_job_id} />
            </Link>
          ),
        ],
        ["Jobs", alive ? `${worker.running_count.toLocaleString()} running, ${worker.prefetched_count.toLocaleString()} prefetched` : movedOf(worker)],
        ["Queues", worker.queues.join(", ")],
        ["Definitions", <span className="names">{worker.definitions.join(", ")}</span>],
      ]}
    />
  );
}

function Running({ worker }: { worker: Worker }) {
  const jobs = useRead("GET /jobs", { query: { worker: worker.worker_id, status: ["running"], limit: 50 } }, { live: ["job"], every: 700, poll: 5000 });
  const tenantOf = useTenantNames();
  return (
    <>
      <h3>Running jobs</h3>
      <Loaded query={jobs}>
        {(found) =>
          found.items.length ? (
            <ul className="now">
              {found.items.map((job) => (
                <li key={job.id}>
                  <Badge status={job.status} />
                  <Link to="/jobs/$jobId" params={{ jobId: job.id }}>
                    {job.definition_key}
                  </Link>
                  <span className="quiet">
                    {`attempt ${job.attempt_count} of ${job.max_attempts}`}, for <Since from={job.claimed_at} />
                  </span>
                  <span className="quiet">{[tenantOf(job.tenant_id), job.queue].filter(Boolean).join(", ")}</span>
                </li>
              ))}
              {found.next && <li className="quiet">More jobs are not shown.</li>}
            </ul>
          ) : (
            <p className="quiet">No running jobs.</p>
          )
        }
      </Loaded>
    </>
  );
}

function LastJobs({ worker }: { worker: WorkerPage }) {
  const tenantOf = useTenantNames();
  const jobs = worker.last_jobs;
  return (
    <>
      <h3>Jobs when it ended</h3>
      {jobs.length ? (
        <ul className="now ended">
          {jobs.map((job) => (
            <li key={job.job_id}>
              {job.status === null ? <span className="quiet">deleted</span> : <Badge status={job.status} />}
              {job.status === null ? (
                <Id id={job.job_id} />
              ) : (
                <Link to="/jobs/$jobId" params={{ jobId: job.job_id }}>
                  {job.definition_key}
                </Link>
              )}
              <span className="quiet">{tenantOf(job.tenant_id)}</span>
            </li>
          ))}
          {jobs.length < worker.held_count && <li className="quiet">{`${jobs.length.toLocaleString()} of ${worker.held_count.toLocaleString()} jobs shown.`}</li>}
        </ul>
      ) : (
        <p className="quiet">It held no jobs when it ended.</p>
      )}
    </>
  );
}
