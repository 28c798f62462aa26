/** The fan-outs of a job and its sub-jobs. */

import { Link, useNavigate } from "@tanstack/react-router";
import type { FanOut, JobPage } from "../api/types";
import { Tag } from "../parts/Badge";
import { Bar } from "../parts/Bar";
import { Panel } from "../parts/Page";
import { Empty } from "../parts/States";
import { Table } from "../parts/Table";
import { Time } from "../parts/Time";
import { jobColumns } from "./job-columns";
import { jobsWith } from "./job-filter";
import { workflowParams } from "./workflow-params";

const SHOWN = new Set(["id", "definition", "status", "attempts", "started", "finished", "ran", "worker"]);

const columns = jobColumns(null).filter(({ key }) => SHOWN.has(key));

export function FanOuts({ fanOuts }: { fanOuts: FanOut[] }) {
  return (
    <Panel title="Fan-outs">
      {fanOuts.map((one) => (
        <div key={one.id} className="fan-out" data-fan-out={one.id}>
          <Link to="/jobs" search={jobsWith({ "fan-out": one.id }) as never}>
            {`${one.total.toLocaleString()} ${one.total === 1 ? "sub-job" : "sub-jobs"}`}
          </Link>
          <Bar
            label="Sub-jobs"
            total={one.total}
            needed={one.needed}
            shares={[
              { status: "succeeded", count: one.succeeded },
              { status: "failed", count: one.failed },
              { status: "canceled", count: one.canceled },
            ]}
          />
          <span className="quiet">{one.strategy.replaceAll("_", " ")}</span>
          {one.decision ? (
            <Tag tone={one.decision === "succeeded" ? "good" : "bad"}>{one.decision}</Tag>
          ) : (
            <span className="quiet">
              {one.timeout_at ? (
                <>
                  times out <Time at={one.timeout_at} />
                </>
              ) : (
                `${(one.total - one.succeeded - one.failed - one.canceled).toLocaleString()} unfinished`
              )}
            </span>
          )}
        </div>
      ))}
    </Panel>
  );
}

export function SubJobs({ job }: { job: JobPage }) {
  const navigate = useNavigate();
  if (!job.children.items.length) return <Empty title="No sub-jobs yet" icon="tree" />;
  return (
    <>
      <Table
        label="Sub-jobs"
        columns={columns}
        rows={job.children.items}
        keyOf={(child) => child.id}
        onOpen={(child) => void navigate({ to: "/jobs/$jobId", params: { jobId: child.id } })}
        maxHeight={560}
      />
      <p className="row wrap">
        {job.children.next && (
          <Link to="/jobs" search={jobsWith({ parent: job.id }) as never}>
            Show all sub-jobs
          </Link>
        )}
        <Link to="/workflows/$jobId" params={{ jobId: job.root_id ?? job.id }} search={workflowParams.link({ at: job.id, sort: "-duration" }) as never}>
          Show the slowest first
        </Link>
      </p>
    </>
  );
}
