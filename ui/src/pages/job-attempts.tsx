/** The attempts of a job with their errors and output, and the running attempt. */

import { useRead } from "../api/hooks";
import type { Attempt, JobPage } from "../api/types";
import { Badge, Tag } from "../parts/Badge";
import { Code } from "../parts/Code";
import { Icon } from "../parts/Icon";
import { Json } from "../parts/Json";
import { Facts } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Since, Time } from "../parts/Time";

export function Attempts({ job }: { job: JobPage }) {
  const attempts = useRead(
    "GET /jobs/{job_id}/attempts",
    { path: { job_id: job.id } },
    { live: ["job"], when: (event) => event.id === job.id, every: 500 },
  );
  return (
    <Loaded query={attempts}>
      {({ items }) => (
        <div>
          {job.status === "running" && <RunningAttempt job={job} />}
          {[...items].reverse().map((attempt, index) => (
            <FinishedAttempt key={attempt.attempt_no} attempt={attempt} open={index === 0 && job.status !== "running"} />
          ))}
          {!items.length && job.status !== "running" && <Empty title="No attempts yet" icon="clock" />}
        </div>
      )}
    </Loaded>
  );
}

function RunningAttempt({ job }: { job: JobPage }) {
  return (
    <details className="attempt" open data-attempt={job.attempt_no}>
      <summary>
        <span className="mono quiet">{job.attempt_no}</span>
        <Badge status="running" />
        <Since from={job.claimed_at} />
        <span>worker {job.claimed_by_worker}</span>
        <Icon name="down" />
      </summary>
      <div className="body">
        {job.progress ? <Output progress={job.progress as Record<string, unknown>} /> : <p className="quiet">No output yet.</p>}
      </div>
    </details>
  );
}

function FinishedAttempt({ attempt, open }: { attempt: Attempt; open: boolean }) {
  const where = [attempt.worker_id !== null && `worker ${attempt.worker_id}`, attempt.host, attempt.pid !== null && `pid ${attempt.pid}`];
  return (
    <details className="attempt" open={open} data-attempt={attempt.attempt_no}>
      <summary>
        <span className="mono quiet">{attempt.attempt_no}</span>
        <Badge status={attempt.status} />
        {attempt.started_at ? <Since from={attempt.started_at} to={attempt.finished_at} /> : <span className="quiet">not started</span>}
        <span className="cut">
          {attempt.error_text ? <code className="quiet">{attempt.error_text.split("\n")[0]}</code> : <span className="quiet">{attempt.reason?.replaceAll("_", " ")}</span>}
        </span>
        <span className="row quiet">
          <Time at={attempt.finished_at} />
          <Icon name="down" />
        </span>
      </summary>
      <div className="body">
        <Facts
          facts={[
            ["Worker", where.filter(Boolean).join(", ")],
            ["Claimed", attempt.claimed_at && <Time at={attempt.claimed_at} />],
            ["Started", attempt.started_at && <Time at={attempt.started_at} />],
            ["Finished", <Time at={attempt.finished_at} />],
            ["Exit code", attempt.exit_code],
            ["Reason", attempt.reason && <code>{attempt.reason}</code>],
            ["Job status", attempt.final && <Badge status={attempt.final} />],
          ]}
        />
        {attempt.error_text && <Part title="Error" text={attempt.error_text} label={`Error of attempt ${attempt.attempt_no}`} />}
        {attempt.traceback && <Part title="Traceback" text={attempt.traceback} label={`Traceback of attempt ${attempt.attempt_no}`} />}
        {attempt.progress !== null && <Output progress={attempt.progress as Record<string, unknown>} />}
      </div>
    </details>
  );
}

export function Part({ title, text, label }: { title: string; text: string; label: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <Code text={plain(text)} label={label} />
    </div>
  );
}

/** The tails of stdout and stderr, and other progress data. */
export function Output({ progress }: { progress: Record<string, unknown> | null }) {
  if (progress === null || typeof progress !== "object" || Array.isArray(progress)) return <Json value={progress} label="progress" />;
  const { stdout, stderr, ...rest } = progress;
  return (
    <div className="fields">
      {Object.keys(rest).length > 0 && <Json value={rest} label="progress" />}
      {[
        ["stdout", stdout],
        ["stderr", stderr],
      ].map(
        ([name, text]) =>
          typeof text === "string" &&
          text !== "" && (
            <div key={String(name)}>
              <h3>
                {String(name)} <Tag>tail</Tag>
              </h3>
              <Code text={plain(text)} label={String(name)} tail />
            </div>
          ),
      )}
    </div>
  );
}

/** Remove ANSI escape sequences. */
function plain(text: string): string {
  return text.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g, "");
}
